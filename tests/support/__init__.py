"""What several test modules share: servers, processes, dashboards, toy models, documents."""
