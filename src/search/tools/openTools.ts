import { lstat } from 'node:fs/promises';
import { Failure } from '../../base/failure.ts';
import type { AgentTool } from '../../core/reflexion/agentTool.ts';
import type { ToolSpec } from '../../protocol/searchSpec.ts';
import { apiKeysOf } from '../../rpc/http/apiKeys.ts';
import { calculatorTool } from './calculatorTool.ts';
import { codeTool } from './codeTool.ts';
import { datasetTool } from './datasetTool.ts';
import { webTool } from './webTool.ts';
import { workspaceTool } from './workspaceTool.ts';

export interface ToolContext {
	/** API keys by origin (`REASONING_LAB_API_KEYS`), and the sandbox mode. */
	readonly environment?: Readonly<Record<string, string | undefined>> | undefined;
}

/** An agent's tools; `bind` returns the tools for one search. */
export interface OpenTools {
	bind(options: { readonly signal: AbortSignal }): readonly AgentTool[];
}

/**
 * Opens tools from their specifications, whose paths are absolute. Several tools of the same type are numbered:
 * `dataset`, `dataset2`. Fails with `missing` if a folder or file does not exist, and with `invalid` for an invalid
 * address.
 */
export async function openTools(specs: readonly ToolSpec[], context: ToolContext = {}): Promise<OpenTools> {
	const counts = new Map<string, number>();
	// Report problems in a specification now, to the user rather than to the model.
	const makers: ((signal: AbortSignal) => AgentTool)[] = [];
	for (const spec of specs) {
		const count = (counts.get(spec.use) ?? 0) + 1;
		counts.set(spec.use, count);
		makers.push(await makerOf(spec, count === 1 ? spec.use : `${spec.use}${count}`, context));
	}
	return { bind: ({ signal }) => makers.map((make) => make(signal)) };
}

async function makerOf(
	spec: ToolSpec,
	name: string,
	{ environment = {} }: ToolContext,
): Promise<(signal: AbortSignal) => AgentTool> {
	switch (spec.use) {
		case 'workspace':
			if (!(await lstat(spec.folder).catch(() => null))?.isDirectory()) {
				throw new Failure('missing', `The folder ${spec.folder} does not exist.`, 'Choose a folder.');
			}
			return (signal) => workspaceTool(name, spec.folder, signal);
		case 'dataset':
			if (!(await lstat(spec.file).catch(() => null))?.isFile()) {
				throw new Failure('missing', `The file ${spec.file} does not exist.`, 'Choose a JSONL file.');
			}
			return (signal) => datasetTool(name, spec.file, signal);
		case 'calculator':
			return () => calculatorTool(name);
		case 'code':
			codeTool(name, spec, environment, AbortSignal.abort());
			return (signal) => codeTool(name, spec, environment, signal);
		case 'web': {
			const keys = apiKeysOf(environment);
			webTool(name, spec, keys, AbortSignal.abort());
			return (signal) => webTool(name, spec, keys, signal);
		}
	}
}
