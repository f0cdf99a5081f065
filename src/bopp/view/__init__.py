"""Views: what can be shown of a result, as data for any page or picture and as matplotlib figures.

convergence, slices, coordinates, importance   the data, without matplotlib
drawing, canvas                                the pictures; they need the `plot` extra
"""
