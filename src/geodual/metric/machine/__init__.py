"""Machines that predict from samples in a learned metric, chosen by leave-one-out in closed form."""
