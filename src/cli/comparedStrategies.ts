import type * as v from 'valibot';
import { Failure } from '../base/failure.ts';
import { formatCounted } from '../base/format.ts';
import { decodeOrThrow } from '../protocol/decode.ts';
import { type ComparedStrategy, comparedStrategySchema } from '../protocol/strategyComparison.ts';
import { searchBudgetSchema } from '../protocol/treeLog.ts';
import { scorerOf, splitOf } from './searchArguments.ts';

const budgets = Object.keys(searchBudgetSchema.entries);
const maxPoints = 64;

/**
 * Parses a `--strategy` value such as `best-of-n n=4,16 judge=value tokens<=1000,4000`. A list adds one point per
 * value; several lists produce every combination. Fails with `invalid` and names the offending part.
 */
export async function comparedStrategyOf(written: string): Promise<ComparedStrategy> {
	const [strategy = '', ...parts] = written.trim().split(/\s+/);
	const fixed: Record<string, unknown> = {};
	const params: [string, unknown[]][] = [];
	const limits: [string, unknown[]][] = [];
	for (const part of parts) {
		const match = /^([\w-]+)(<=|=)(.+)$/.exec(part);
		if (match === null) throw wrong(written, part);
		const [, name, sign, value] = match as unknown as [string, string, string, string];
		if (sign === '<=') {
			if (!budgets.includes(name)) throw wrong(written, part);
			limits.push([name, value.split(',').map(Number)]);
		} else if (name === 'guide' || name === 'judge') fixed[name] = await scorerOf(value, `${name} of --strategy`);
		else if (name === 'split') fixed[name] = splitOf(value);
		else if (name === 'name') fixed[name] = value;
		else params.push([name, value.split(',').map(paramValue)]);
	}
	const points = combinations(params).flatMap((own) => combinations(limits).map((budget) => ({ params: own, budget })));
	if (points.length > maxPoints) {
		throw new Failure(
			'invalid',
			`--strategy "${written}" expands to ${formatCounted(points.length, 'point')} (max ${maxPoints}).`,
		);
	}
	return decodeOrThrow(
		comparedStrategySchema as v.GenericSchema<unknown, ComparedStrategy>,
		{ strategy, ...fixed, points },
		`--strategy "${written}"`,
	);
}

function wrong(written: string, part: string): Failure {
	return new Failure(
		'invalid',
		`--strategy "${written}" contains "${part}", which is not valid.`,
		`Use the format "best-of-n n=4,16 judge=value tokens<=1000,4000" (limits: ${budgets.join(', ')}).`,
	);
}

function paramValue(written: string): unknown {
	try {
		return JSON.parse(written);
	} catch {
		return written;
	}
}

function combinations(lists: readonly (readonly [string, readonly unknown[]])[]): Record<string, unknown>[] {
	let all: Record<string, unknown>[] = [{}];
	for (const [name, values] of lists) all = all.flatMap((one) => values.map((value) => ({ ...one, [name]: value })));
	return all;
}
