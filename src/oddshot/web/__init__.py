"""HTTP building blocks shared by the app and the service: access control, size limits, error responses, logs."""
