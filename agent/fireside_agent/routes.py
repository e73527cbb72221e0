"""All HTTP routes of an agent, its socket included."""

from quart import Blueprint

from fireside_agent import presets, socket
from fireside_agent.agent import Agent
from fireside_agent.approvals import routes as approvals
from fireside_agent.attachments import routes as attachments
from fireside_agent.export import routes as export
from fireside_agent.memory import routes as memory
from fireside_agent.search import routes as search
from fireside_agent.tools import routes as tools
from fireside_agent.tools.mcp import routes as mcp
from fireside_agent.trash import routes as trash


def create_blueprints(agent: Agent) -> list[Blueprint]:
    """`/ws` and the agent's part of `/api`."""
    parts = agent.parts
    return [
        socket.create_blueprint(agent),
        approvals.create_blueprint(parts.book, parts.log),
        attachments.create_blueprint(agent.attachments),
        export.create_blueprint(*agent.transfer),
        memory.create_blueprint(parts.vault, parts.proposals),
        mcp.create_blueprint(parts.servers),
        presets.create_blueprint(agent.presets),
        search.create_blueprint(agent.searcher),
        tools.create_blueprint(parts.toolbox.registry, agent.usual_tools),
        trash.create_blueprint(agent.trash, agent.hub.restore),
    ]
