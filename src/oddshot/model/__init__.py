"""The paper's equations in torch, every shape with leading replica and task dimensions."""
