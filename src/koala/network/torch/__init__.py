"""The torch model. Each class names the equations of the paper that it implements."""
