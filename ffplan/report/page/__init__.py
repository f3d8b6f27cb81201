"""One self-contained page: charts as static SVG, tables that sort, the files and figures behind them."""
