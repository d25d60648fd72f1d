"""On-the-fly dispatching, reservation-based dispatching, and a hybrid (Gainaru et al., IJHPCA 2019)."""
