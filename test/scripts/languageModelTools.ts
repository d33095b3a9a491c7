import { toJsonSchema } from '@valibot/to-json-schema';
import { toolsFor } from '../../src/mcp/tools.ts';

const acting = 'isWorkspaceTrusted && config.reasoningLab.mcp.allowActions';

/**
 * Returns `languageModelTools` for package.json: all tools of the MCP server. Those that act are offered only if the user
 * allows actions, and those tagged as confirmed ask the user before each call.
 */
export function languageModelTools(): object[] {
	return toolsFor(true, true).map(({ name, title, description, effect, input }) => {
		const { $schema: _, ...inputSchema } = toJsonSchema(input, { typeMode: 'input' });
		const reads = effect === 'none' || effect === 'show';
		return {
			name: `reasoninglab_${name}`,
			displayName: title,
			modelDescription: description,
			canBeReferencedInPrompt: true,
			toolReferenceName: `rl_${name}`,
			tags: ['reasoning-lab', ...(reads || effect === 'watch' ? [] : ['reasoning-lab-confirmed'])],
			...(reads ? {} : { when: acting }),
			inputSchema,
		};
	});
}
