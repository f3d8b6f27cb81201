"""How fast: bounds on communication from host memory, PCIe, NVLink and NICs."""
