"""The timeline of an inference, a row for each board and link: estimated above measured; as text, SVG and trace."""
