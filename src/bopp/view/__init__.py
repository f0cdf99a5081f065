"""Views: what can be shown of a result, as data for any page, as pictures and as HTML.

convergence, timeline, distribution, coordinates   what happened
front                                              several objectives, and the volume that they dominate
slices, contour, importance, calibration           what the model believes
explanation, pulls                                 what it believed of a trial when it was suggested
values, points, prediction, sources                what they share
drawing                                            the pictures by name
style, canvas, figure                              what pictures share; they need the `plot` extra

A module of a picture has a function of its data, which wants no matplotlib, and one that draws them.
"""
