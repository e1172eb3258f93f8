"""Machines that predict in a learned metric, chosen by leave-one-out in closed form."""
