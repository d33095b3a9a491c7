import type { Exchange, PlaygroundSide } from '../../protocol/playgroundMessages.ts';
import { maxExchanges } from '../../protocol/playgroundMessages.ts';

/** A playground's exchanges in order, the selected one, and undone ones. */
export interface History {
	readonly exchanges: readonly Exchange[];
	readonly current: number | null;
	/** Undone exchanges, most recent last. Asking a new question clears them. */
	readonly undone: readonly Exchange[];
	readonly nextId: number;
}

export type HistoryAction =
	| { readonly type: 'asked'; readonly exchange: Exchange }
	| { readonly type: 'changed'; readonly id: number; readonly side: number; readonly change: Partial<PlaygroundSide> }
	| { readonly type: 'expected'; readonly id: number; readonly expected: string }
	| { readonly type: 'show'; readonly id: number }
	| { readonly type: 'undo' }
	| { readonly type: 'redo' }
	| { readonly type: 'clear' };

export const emptyHistory: History = { exchanges: [], current: null, undone: [], nextId: 1 };

export function exchangeOf({ exchanges }: Pick<History, 'exchanges'>, id: number | null): Exchange | undefined {
	return exchanges.find((exchange) => exchange.id === id);
}

/** Returns whether any side is still being generated or verified. */
export function isRunning({ sides }: Exchange): boolean {
	return sides.some(({ state }) => state === 'opening' || state === 'writing' || state === 'checking');
}

export function reduceHistory(history: History, action: HistoryAction): History {
	const { exchanges, undone, nextId } = history;
	switch (action.type) {
		case 'asked': {
			const kept = [...exchanges, action.exchange].slice(-maxExchanges);
			const { id } = action.exchange;
			return { exchanges: kept, current: id, undone: [], nextId: Math.max(nextId, id + 1) };
		}
		case 'changed':
			return {
				...history,
				exchanges: exchanges.map((exchange) =>
					exchange.id !== action.id
						? exchange
						: {
								...exchange,
								sides: exchange.sides.map((side, i) => (i === action.side ? { ...side, ...action.change } : side)),
							},
				),
			};
		case 'expected':
			return {
				...history,
				exchanges: exchanges.map((exchange) =>
					exchange.id === action.id ? { ...exchange, expected: action.expected } : exchange,
				),
			};
		case 'show':
			return exchangeOf(history, action.id) === undefined ? history : { ...history, current: action.id };
		case 'undo': {
			const last = exchanges.at(-1);
			if (last === undefined || isRunning(last)) return history;
			const left = exchanges.slice(0, -1);
			const back = exchangeOf({ exchanges: left }, last.branch?.exchange ?? null) ?? left.at(-1);
			return { ...history, exchanges: left, current: back?.id ?? null, undone: [...undone, last] };
		}
		case 'redo': {
			const again = undone.at(-1);
			if (again === undefined) return history;
			return {
				...history,
				exchanges: [...exchanges, again],
				current: again.id,
				undone: undone.slice(0, -1),
			};
		}
		case 'clear':
			return exchanges.some(isRunning) ? history : { ...emptyHistory, nextId };
	}
}

/** Restores a saved history. Generations in progress were terminated by the reload. */
export function restoredHistory(exchanges: readonly Exchange[], current: number | null): History {
	const seen = new Set<number>();
	const kept = exchanges
		.filter(({ id }) => !seen.has(id) && seen.add(id))
		.slice(-maxExchanges)
		.map(
			(exchange): Exchange =>
				isRunning(exchange)
					? {
							...exchange,
							sides: exchange.sides.map((side) =>
								side.state === 'finished' || side.state === 'failed'
									? side
									: {
											...side,
											state: 'stopped',
											samples: side.samples.map((sample) => ({ ...sample, finish: sample.finish ?? 'stopped' })),
										},
							),
						}
					: exchange,
		);
	const shown = exchangeOf({ exchanges: kept }, current) ?? kept.at(-1);
	return {
		exchanges: kept,
		current: shown?.id ?? null,
		undone: [],
		nextId: kept.reduce((max, { id }) => Math.max(max, id), 0) + 1,
	};
}

/** Approximate maximum size of a saved history, in characters of JSON. */
const savedCharacters = 1_500_000;

/**
 * Returns the exchanges to save, newest first: with tokens while there is room, then without tokens. The oldest
 * exchanges are dropped.
 */
export function savedExchanges(exchanges: readonly Exchange[], room = savedCharacters): Exchange[] {
	const kept: Exchange[] = [];
	let left = room;
	for (const exchange of exchanges.toReversed()) {
		const bare: Exchange = {
			...exchange,
			sides: exchange.sides.map((side) => ({
				...side,
				samples: side.samples.map((sample) => ({ ...sample, detail: null })),
			})),
		};
		const own = roughSize(exchange);
		const small = own <= left / 2 ? null : roughSize(bare);
		if (small !== null && small > left) break;
		kept.push(small === null ? exchange : bare);
		left -= small ?? own;
	}
	return kept.reverse();
}

/** Estimates the JSON size without serializing. */
function roughSize({ question, sides, template }: Exchange): number {
	let size = 500 + question.length + (template.mode === 'custom' ? template.text.length : 0);
	for (const { prompt, system, samples } of sides) {
		size += 600 + prompt.length + (system?.length ?? 0);
		for (const { text, detail } of samples) {
			size += 200 + text.length;
			if (detail === null) continue;
			size += detail.text.length * 40;
			for (const top of detail.top ?? []) size += top.length * 30;
		}
	}
	return size;
}

/** Returns exchanges as list rows. Branches follow their origin, indented by one level. */
export function historyRows(exchanges: readonly Exchange[]): { readonly exchange: Exchange; readonly depth: number }[] {
	const known = new Set(exchanges.map(({ id }) => id));
	const below = new Map<number | null, Exchange[]>();
	for (const exchange of exchanges) {
		const from = exchange.branch?.exchange ?? null;
		// An exchange cannot branch from a later one, even if a saved state says so.
		const of = from !== null && from < exchange.id && known.has(from) ? from : null;
		const list = below.get(of);
		if (list === undefined) below.set(of, [exchange]);
		else list.push(exchange);
	}
	const rows: { exchange: Exchange; depth: number }[] = [];
	const stack = (below.get(null) ?? []).map((exchange) => ({ exchange, depth: 0 })).reverse();
	for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
		rows.push(next);
		const { exchange, depth } = next;
		for (const child of (below.get(exchange.id) ?? []).toReversed()) stack.push({ exchange: child, depth: depth + 1 });
	}
	return rows;
}
