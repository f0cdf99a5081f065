"""Views: what can be shown of a result, as data for any page or picture and as matplotlib figures.

convergence, timeline, distribution, coordinates   what happened, as data without matplotlib
front                                              several objectives, and the volume that they dominate
slices, contour, importance, calibration           what the model believes, likewise
explanation, pulls                                 what it believed of a trial when it was suggested, likewise
values, points, prediction, sources                what they share
drawing, canvas                                    the pictures; they need the `plot` extra
"""
