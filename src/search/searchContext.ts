import { isAbsolute, resolve } from 'node:path';
import type { PolicyContext } from '../policies/openedPolicy.ts';
import type { PolicySpec } from '../protocol/policySpec.ts';
import type { ScorerSpec, SearchEnvironment, SearchSpec, ToolSpec } from '../protocol/searchSpec.ts';
import type { PolicyPool } from './policyPool.ts';

/** Dependencies of a search, provided by the caller. */
export interface SearchContext {
	/** How to open policies; `folder` is the base for relative paths in a specification. */
	readonly policies: Omit<PolicyContext, 'signal' | 'capabilities'>;
	readonly pool: PolicyPool;
	/**
	 * Environment variables for scorer processes (Python, sandbox, API keys for judges). Default: this process's
	 * environment.
	 */
	readonly environment?: Readonly<Record<string, string | undefined>>;
	/** Python interpreter for environments. Default: the source's, or the one set in the environment variables. */
	readonly python?: string;
	/** Memory limit of an environment process, in MB. Default: the limit set by its runner. */
	readonly memoryMb?: number;
}

/** Returns a specification with absolute paths, as stored in logs. */
export function absoluteSpec(spec: SearchSpec, folder: string): SearchSpec {
	return {
		...spec,
		policy: absolutePolicy(spec.policy, folder),
		guide: spec.guide === null ? null : absoluteScorer(spec.guide, folder),
		judge: spec.judge === null ? null : absoluteScorer(spec.judge, folder),
		...(spec.environment === undefined ? {} : { environment: absoluteEnvironment(spec.environment, folder) }),
		tools: spec.tools.map((tool) => absoluteTool(tool, folder)),
	};
}

/** Resolves only paths, because a package can also be given by the name of an installed one. */
export function absoluteEnvironment(given: SearchEnvironment, folder: string): SearchEnvironment {
	const { file, package: named } = given;
	return {
		...given,
		...(file === undefined ? {} : { file: resolve(folder, file) }),
		...(named !== undefined && /[\\/]/.test(named) ? { package: resolve(folder, named) } : {}),
	};
}

function absoluteTool(tool: ToolSpec, folder: string): ToolSpec {
	if (tool.use === 'workspace') return { ...tool, folder: resolve(folder, tool.folder) };
	return tool.use === 'dataset' ? { ...tool, file: resolve(folder, tool.file) } : tool;
}

function absolutePolicy(policy: PolicySpec, folder: string): PolicySpec {
	switch (policy.kind) {
		case 'checkpoint':
			return { ...policy, folder: resolve(folder, policy.folder) };
		case 'engine':
			return { ...policy, run: resolve(folder, policy.run) };
		case 'scripted':
			return { ...policy, file: resolve(folder, policy.file) };
		case 'openai':
			return policy;
	}
}

function absoluteScorer(scorer: ScorerSpec, folder: string): ScorerSpec {
	switch (scorer.use) {
		case 'reward': {
			const { reward } = scorer;
			if (typeof reward === 'string' || typeof reward.file !== 'string' || isAbsolute(reward.file)) return scorer;
			return { ...scorer, reward: { ...reward, file: resolve(folder, reward.file) } };
		}
		case 'value':
		case 'process':
			return scorer.model === undefined ? scorer : { ...scorer, model: resolve(folder, scorer.model) };
		case 'judge':
			return { ...scorer, policy: absolutePolicy(scorer.policy, folder) };
		default:
			return scorer;
	}
}
