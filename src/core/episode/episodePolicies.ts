import { Random } from '../../base/random.ts';
import type { ToolDescription } from '../../protocol/environmentHost.ts';
import type { EpisodeTurn, ToolCall } from '../../protocol/episode.ts';
import { randomArguments, seenValues } from './randomArguments.ts';

/** Policies that do not need a model. */
export const episodePolicies = ['gold', 'random', 'idle', 'wrong'] as const;
/** Name of a policy that uses a model, for the same lists. */
export const trainedPolicy = 'policy';
export type EpisodePolicyName = (typeof episodePolicies)[number];

/** The part of an episode that a policy sees. */
export interface EpisodeView {
	/** Text of the prompt, followed by the observation from reset. */
	readonly prompt: string;
	readonly turns: readonly EpisodeTurn[];
}

/** Returns the calls for the next turn, or null to end the episode. Pure: the same view always gives the same calls. */
export type EpisodePolicy = (view: EpisodeView) => readonly ToolCall[] | null;

/** Makes scripted calls, turn by turn. */
export function scriptPolicy(script: readonly (readonly ToolCall[])[]): EpisodePolicy {
	return ({ turns }) => script[turns.length] ?? null;
}

/** Calls random tools with arguments that fit their schemas, until the environment reports that it is done. */
export function randomPolicy(tools: readonly ToolDescription[], ...seeds: readonly (number | string)[]): EpisodePolicy {
	const usable = tools.flatMap(({ schema }) => (schema === null ? [] : [schema]));
	return ({ prompt, turns }) => {
		if (usable.length === 0 || turns.at(-1)?.done === true) return null;
		const random = Random.of(...seeds, 'random policy', turns.length);
		const schema = random.pick(usable);
		const seen = seenValues([prompt, ...turns.flatMap(({ results }) => results.map(({ content }) => content))]);
		return [{ name: schema.name, arguments: randomArguments(schema, seen, random) }];
	};
}

/** Returns every type of invalid call once: an unknown tool, and, for each tool, malformed, missing, and mistyped arguments. */
export function wrongScript(tools: readonly ToolDescription[]): readonly (readonly ToolCall[])[] {
	const calls: ToolCall[] = [{ name: 'no_such_tool', arguments: {} }];
	for (const { name, schema } of tools) {
		calls.push({ name, arguments: '{"unterminated": ' }, { name, arguments: null }, { name, arguments: [1] });
		const names = Object.keys(schema?.parameters.properties ?? {});
		if ((schema?.parameters.required ?? []).length > 0) calls.push({ name, arguments: {} });
		if (names.length > 0) {
			calls.push({ name, arguments: Object.fromEntries(names.map((one) => [one, { wrong: ['type'] }])) });
		}
		calls.push({ name, arguments: { no_such_argument: 1 } });
	}
	return calls.slice(0, maxWrongCalls).map((call) => [call]);
}

const maxWrongCalls = 40;
