"""What PyTorch keeps beside `torch.fx` for its compiler."""
