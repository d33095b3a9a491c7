import type { Rule } from './rule.ts';
import { deadGroups } from './rules/deadGroups.ts';
import { dominantReward } from './rules/dominantReward.ts';
import { entropyCollapse } from './rules/entropyCollapse.ts';
import { formatWithoutAccuracy } from './rules/formatWithoutAccuracy.ts';
import { klBlowUp } from './rules/klBlowUp.ts';
import { learningRateHigh } from './rules/learningRateHigh.ts';
import { lengthDrift } from './rules/lengthDrift.ts';
import { notANumber } from './rules/notANumber.ts';
import { overlong } from './rules/overlong.ts';
import { repetitionLoops } from './rules/repetitionLoops.ts';
import { rewardHacking } from './rules/rewardHacking.ts';
import { samplerMismatch } from './rules/samplerMismatch.ts';
import { throughputDrop } from './rules/throughputDrop.ts';

/** Every rule; docs/diagnosis.md is made from them. */
export const rules: readonly Rule[] = [
	notANumber,
	learningRateHigh,
	deadGroups,
	overlong,
	entropyCollapse,
	klBlowUp,
	lengthDrift,
	dominantReward,
	formatWithoutAccuracy,
	rewardHacking,
	repetitionLoops,
	samplerMismatch,
	throughputDrop,
];

/** What a rule is called for a person. */
export function ruleTitle(name: string): string {
	return rules.find((rule) => rule.name === name)?.title ?? name;
}
