import type { ToolContext } from '../tool.ts';

/** A number in the data at an address. */
export interface Fact {
	/** Name in tool results: `reward`, `mean_reward`, `rewards.accuracy`, `tokens.entropy`. */
	readonly name: string;
	readonly value: number;
}

export type FactContext = Pick<ToolContext, 'runs' | 'searches' | 'signal'>;
