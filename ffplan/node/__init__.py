"""One server inside: sockets, root ports, scale-up links, NICs, and the fabric cuts that its traffic crosses."""
