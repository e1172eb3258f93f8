"""Machines that predict from samples in a learnt metric, chosen by leave-one-out in closed form."""
