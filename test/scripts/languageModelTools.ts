import { toJsonSchema } from '@valibot/to-json-schema';
import { toolsFor } from '../../src/mcp/tools.ts';

/** Returns `languageModelTools` for package.json: the read-only tools of the MCP server, and the one that shows something. */
export function languageModelTools(): object[] {
	return toolsFor(false, true).map(({ name, title, description, input }) => {
		const { $schema: _, ...inputSchema } = toJsonSchema(input, { typeMode: 'input' });
		return {
			name: `reasoninglab_${name}`,
			displayName: title,
			modelDescription: description,
			canBeReferencedInPrompt: true,
			toolReferenceName: `rl_${name}`,
			tags: ['reasoning-lab'],
			inputSchema,
		};
	});
}
