import { Failure } from '../../base/failure.ts';
import { decode } from '../../protocol/decode.ts';
import { beam } from './strategies/beam.ts';
import { bestOfN } from './strategies/bestOfN.ts';
import { budgetForcing } from './strategies/budgetForcing.ts';
import { dvts } from './strategies/dvts.ts';
import { graphOfThoughts } from './strategies/graphOfThoughts.ts';
import { leastToMost } from './strategies/leastToMost.ts';
import { mcts } from './strategies/mcts.ts';
import { reflexion } from './strategies/reflexion.ts';
import { selfConsistency } from './strategies/selfConsistency.ts';
import { selfRefine } from './strategies/selfRefine.ts';
import { sequentialRevision } from './strategies/sequentialRevision.ts';
import { stepCompletion } from './strategies/stepCompletion.ts';
import { tokenForking } from './strategies/tokenForking.ts';
import { treeOfThoughts } from './strategies/treeOfThoughts.ts';
import type { Strategy } from './strategy.ts';

// biome-ignore lint/suspicious/noExplicitAny: each strategy has its own parameters and schema
export type AnyStrategy = Strategy<any>;

/** All strategies, in display order. */
export const strategies: readonly AnyStrategy[] = [
	bestOfN,
	selfConsistency,
	beam,
	dvts,
	mcts,
	treeOfThoughts,
	graphOfThoughts,
	selfRefine,
	sequentialRevision,
	leastToMost,
	budgetForcing,
	tokenForking,
	stepCompletion,
	// Runs without tools; callers that have tools use `reflexion(tools)`.
	reflexion(),
];

/**
 * Strategies that can search over episodes, because they only request further turns; the others give instructions or
 * change the text.
 */
export const episodeStrategies: readonly string[] = ['best-of-n', 'self-consistency', 'beam', 'dvts', 'mcts'];

/** Returns the strategy with the given name; throws `invalid` if there is none. */
export function strategyOf(name: string): AnyStrategy {
	const found = strategies.find((one) => one.name === name);
	if (found !== undefined) return found;
	throw new Failure(
		'invalid',
		`Unknown strategy "${name}".`,
		`Choose one of: ${strategies.map((one) => one.name).join(', ')}.`,
	);
}

/** Validates strategy parameters and fills in defaults; throws `invalid` with the name of the first invalid one. */
export function strategyParams<P>(strategy: Strategy<P>, params: unknown): P {
	const decoded = decode(strategy.params, params ?? {});
	if (decoded.ok) return decoded.value;
	const fault = decoded.faults[0];
	const named = paramNames(strategy);
	const unknown = fault !== undefined && fault.path !== '' && !named.includes(fault.path.split(/[.[]/)[0] as string);
	throw new Failure(
		'invalid',
		unknown
			? `Strategy ${strategy.name} has no parameter "${fault.path}".`
			: `Invalid parameters for ${strategy.name}: ${fault?.path ?? ''} ${fault?.message ?? ''}.`,
		named.length === 0 ? 'This strategy has no parameters.' : `Parameters: ${named.join(', ')}.`,
	);
}

function paramNames(strategy: AnyStrategy): string[] {
	return Object.keys((strategy.params as { entries?: Record<string, unknown> }).entries ?? {});
}
