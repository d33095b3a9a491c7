from adder_v1.taskset import AdderTaskset

__all__ = ["AdderTaskset"]
