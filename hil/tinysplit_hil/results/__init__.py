"""Results of measurements in files: rows of times as CSV and JUnit XML, and the comparison of two of them."""
