"""Cost to buy and to run: bill of materials, power, energy."""
