import type { Rule } from './rule.ts';
import { betaHigh } from './rules/betaHigh.ts';
import { cutEpisodes } from './rules/cutEpisodes.ts';
import { deadGroups } from './rules/deadGroups.ts';
import { dominantReward } from './rules/dominantReward.ts';
import { entropyCollapse } from './rules/entropyCollapse.ts';
import { environmentSlow } from './rules/environmentSlow.ts';
import { epsilonLow } from './rules/epsilonLow.ts';
import { formatWithoutAccuracy } from './rules/formatWithoutAccuracy.ts';
import { klBlowUp } from './rules/klBlowUp.ts';
import { languageMixing } from './rules/languageMixing.ts';
import { learningRateHigh } from './rules/learningRateHigh.ts';
import { learningRateLow } from './rules/learningRateLow.ts';
import { lengthDrift } from './rules/lengthDrift.ts';
import { noisyReward } from './rules/noisyReward.ts';
import { notANumber } from './rules/notANumber.ts';
import { overlong } from './rules/overlong.ts';
import { repetitionLoops } from './rules/repetitionLoops.ts';
import { rewardErrors } from './rules/rewardErrors.ts';
import { rewardHacking } from './rules/rewardHacking.ts';
import { rewardWithoutTool } from './rules/rewardWithoutTool.ts';
import { samplerMismatch } from './rules/samplerMismatch.ts';
import { stalled } from './rules/stalled.ts';
import { throughputDrop } from './rules/throughputDrop.ts';
import { toolErrors } from './rules/toolErrors.ts';
import { toolUnused } from './rules/toolUnused.ts';
import { wrongAnswers } from './rules/wrongAnswers.ts';

/** All rules, with causes before symptoms. docs/diagnosis.md is generated from this list. */
export const rules: readonly Rule[] = [
	notANumber,
	stalled,
	rewardErrors,
	noisyReward,
	samplerMismatch,
	toolErrors,
	toolUnused,
	wrongAnswers,
	rewardWithoutTool,
	rewardHacking,
	dominantReward,
	learningRateHigh,
	betaHigh,
	epsilonLow,
	learningRateLow,
	klBlowUp,
	cutEpisodes,
	overlong,
	entropyCollapse,
	languageMixing,
	lengthDrift,
	repetitionLoops,
	deadGroups,
	formatWithoutAccuracy,
	environmentSlow,
	throughputDrop,
];

/** Returns the display name of a rule. */
export function ruleTitle(name: string): string {
	return rules.find((rule) => rule.name === name)?.title ?? name;
}
