"""What every stage uses: errors, units, files, tables and progress."""
