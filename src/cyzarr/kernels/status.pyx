"""Return codes of the kernels that run without the GIL; see the .pxd."""
