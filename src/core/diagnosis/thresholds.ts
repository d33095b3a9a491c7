/*
 * Thresholds for all diagnosis rules, each with its rationale. docs/diagnosis.md is generated from them. A batch is a
 * generation batch, that is, a row that has the metric in question.
 */

export interface Threshold {
	readonly value: number;
	readonly unit: string;
	/** Rationale for the value, with a source if there is one. */
	readonly why: string;
}

const threshold = (value: number, unit: string, why: string): Threshold => ({ value, unit, why });

export const thresholds = {
	degradeBatches: threshold(10, 'batches', 'The mean of ten batches has a third of the scatter of a single one.'),
	openingBatches: threshold(
		3,
		'batches',
		'The first batch is sampled before any update, the next two after one and two updates: if the rate ruins a policy within a few updates, later batches no longer show the starting level.',
	),
	degradeShare: threshold(
		0.25,
		'of reward_std',
		'A drop of a quarter of the reward spread is plain to see on a chart; for a 0/1 reward it is at most 0.12 of accuracy.',
	),
	degradeErrors: threshold(
		4,
		'standard errors',
		'A run is tested after each of hundreds of batches against the same first ones: at four standard errors (3 in 100,000 by chance) false alarms stay rare; at three, one flat run in forty would be flagged.',
	),
	degradeEvaluations: threshold(
		2,
		'evaluations',
		'One evaluation may be low by chance, even with disjoint 95% intervals.',
	),
	rateCut: threshold(
		10,
		'times lower',
		'Learning rates are searched in powers of ten (common practice since Bengio 2012), and a rate that ruins a policy within tens of updates is off by more than a factor of two.',
	),
	usualBeta: threshold(0.04, '', 'The KL coefficient of GRPO in DeepSeekMath (Shao et al. 2024, section 4.2).'),

	deadShare: threshold(
		0.8,
		'share of groups',
		'If four groups in five have no gradient, a batch costs five times what it contributes. DAPO (Yu et al. 2025, section 3.2) saw this share grow throughout training and resamples because of it; below this limit it is normal for a task being learned.',
	),
	deadBatches: threshold(20, 'batches', 'One batch has few groups, so its share is noisy.'),
	deadCauseShare: threshold(0.5, 'share of dead groups', 'A cause is named if it explains most of them.'),
	hopelessShare: threshold(
		0.01,
		'share of completions',
		'At 1 correct in 100, a group of eight contains a correct completion once in twelve batches.',
	),
	coldTemperature: threshold(
		0.7,
		'',
		'GRPO recipes sample at 0.9 to 1; at 0.7 a token with probability 0.1 against 0.9 is sampled half as often.',
	),
	hotterBy: threshold(
		1.5,
		'times the temperature',
		'POLARIS (An et al. 2025) raises temperature to 1.4 and more when diversity runs out.',
	),
	solvedAccuracy: threshold(0.9, 'share', 'Above this accuracy a task counts as solved: little is left to learn.'),

	entropyShare: threshold(
		0.1,
		'of the entropy at the start of the stage',
		'Entropy is traded for reward (Cui et al. 2025: R = -a exp(H) + b), most of it early, so a drop alone is not a problem: a healthy run of the demo ends at a fifth of its initial entropy.',
	),
	entropyFloor: threshold(
		0.05,
		'nats per token',
		'A policy with more entropy than this still explores, whatever its initial entropy was.',
	),
	entropyDead: threshold(
		0.3,
		'share of groups that are not all correct',
		'A low level of entropy is not a problem if the stage started there: short answers need little. Among low-entropy policies, those that learned had one such group in ten without reward variance; collapsed ones had four or more.',
	),
	entropyHotter: threshold(
		2.5,
		'times the temperature',
		'POLARIS (An et al. 2025) goes to 1.4 and more for policies that still have entropy; one without needs more.',
	),
	entropyBatches: threshold(20, 'batches', 'Updates of one batch vary.'),

	klMean: threshold(
		1,
		'nats per token',
		'Healthy runs stay below a few tenths. At 1 nat per token, the reference would hardly ever have written any of the completions.',
	),
	klGrowth: threshold(
		5,
		'times the median before',
		'A level that the run has had all along reflects the choice of beta, not an event.',
	),
	klBatches: threshold(
		10,
		'updates',
		'k3 is heavy-tailed and one token can dominate an update, hence the median of several.',
	),
	policyKl: threshold(
		0.1,
		'nats per token',
		'PPO implementations stop an epoch at 0.01 to 0.05 (Spinning Up, target_kl 0.01 x 1.5); ten times that is no longer a small step.',
	),

	lengthGrowth: threshold(
		2,
		'times the length before',
		'Length that grows with reward is how reasoning is learned (DeepSeek-R1, figure 3); twice the tokens for the same reward is not.',
	),
	lengthShrink: threshold(0.4, 'times the length before', 'Short answers are fine as long as they earn as much.'),
	lengthBatches: threshold(30, 'batches', 'Long enough for reward to respond to length.'),
	overlongShare: threshold(
		0.25,
		'share of completions',
		'A truncated completion earns nothing whatever it was about to say, so from a quarter on, the limit drives the reward (DAPO, section 3.4, filters them for that noise).',
	),
	overlongBatches: threshold(20, 'batches', 'A model that has yet to learn to stop does so within a few batches.'),

	squeezedShare: threshold(
		0.5,
		'share of completions',
		'When most completions are truncated, stopping early is what gets rewarded.',
	),
	squeezedLength: threshold(0.8, 'of the initial length', 'A fifth shorter is more than the usual scatter of lengths.'),

	dominantShare: threshold(
		0.9,
		'share of the variance of the weighted components',
		'Advantages come from differences within groups: what does not vary is not trained.',
	),
	dominantBatches: threshold(20, 'batches', 'Standard deviations of single batches are noisy.'),
	dominantLookback: threshold(
		100,
		'batches',
		'By then even slow learning shows a rise; without one, none is to be expected.',
	),
	balancedShare: threshold(
		0.1,
		'of the SD of the correctness reward',
		'A tenth of the SD is a hundredth of the variance: it breaks ties between equally correct completions, and a reward that pulls away from correct answers is still outweighed.',
	),

	formatLearnt: threshold(0.9, 'of the largest format reward', 'Nine completions in ten have the format.'),
	formatBatches: threshold(60, 'batches', 'How long correctness may take once the format is learned.'),
	flatBelow: threshold(
		0.3,
		'share',
		'A policy with a higher accuracy than this has groups to learn from: no progress there is a plateau, which has causes other than format.',
	),
	flatRise: threshold(0.05, 'share', 'Less than the scatter of a batch of a hundred completions.'),

	hackingRise: threshold(
		0.5,
		'standard deviations of reward in a batch',
		'A rise that is plain to see: half the reward spread of a batch.',
	),
	hackingEvaluations: threshold(3, 'evaluations', 'Two measurements without a rise may be chance.'),
	hackingBatches: threshold(50, 'batches', 'Held-out problems show what was learned a little later.'),

	loopShare: threshold(
		0.5,
		'share of 4-grams that occurred before',
		'Reasoning repeats a formula or a phrase now and then; when every other 4-gram has occurred before, it is looping. n-grams of words as in the repetition penalty of Yeo et al. 2025 and open-r1.',
	),
	loopWords: threshold(50, 'n-grams', 'Shorter texts repeat by chance.'),
	loopRollouts: threshold(0.1, 'share of rollouts', 'A few loops at temperature 1 are normal.'),
	loopSteps: threshold(5, 'steps with rollouts', 'A single step has few rollouts.'),

	stillBatches: threshold(40, 'batches', 'Twice as many batches as other rules wait for: a late start is not a stall.'),
	stillBound: threshold(
		0.02,
		'share',
		'By Pinsker, the probability of any set of completions can have moved by at most sqrt(KL / 2), KL in nats per completion: below 0.02, nothing learned could show on 400 held-out problems.',
	),
	betaHigh: threshold(
		1,
		'',
		'The optimal policy under a KL term is the reference times exp(advantage / beta). Advantages have SD 1 and correct and incorrect are about two apart, so at beta 1 the odds of a correct completion can grow by at most e^2; at 5 by e^0.4, or half as much again. Recipes use 0 to 0.1.',
	),
	clippedShare: threshold(
		0.05,
		'share of tokens',
		'With a range of 0.2, at most a few tokens in a hundred are clipped (DAPO, section 3.1).',
	),
	epsilonLow: threshold(
		0.02,
		'',
		'Ranges of 0.1 to 0.3 are used for per-token ratios (Schulman et al. 2017; DAPO 0.2 and 0.28); ranges ten times smaller belong to whole-sequence ratios.',
	),
	usualEpsilon: threshold(0.2, '', 'The value used by PPO and the recipe default.'),
	errorBatches: threshold(
		5,
		'of the last 10 batches',
		'An occasional timeout is not a bug; a failure in every other batch is.',
	),
	repeatPairs: threshold(50, 'pairs', 'Fewer pairs of identical completions prove nothing.'),
	repeatDiffer: threshold(
		0.1,
		'share of pairs',
		'A deterministic reward never differs; a judge at temperature 0 does now and then.',
	),
	mixedLetters: threshold(0.1, 'share of letters', 'One term or name of another language is normal.'),
	mixedShare: threshold(0.2, 'share of completions', 'One completion in five is no longer a slip.'),
	languageWeight: threshold(1, '', 'DeepSeek-R1 (section 2.3.2) adds language consistency to accuracy unweighted.'),
	agreeShare: threshold(
		0.75,
		'share of a group',
		'Completions that reach the same answer in different ways are rarely wrong together (self-consistency, Wang et al. 2022).',
	),
	agreedWrong: threshold(
		0.1,
		'share of groups',
		'Datasets have a few wrong keys in a hundred; one in ten costs more than noise.',
	),
	agreedGap: threshold(
		0.2,
		'share',
		'Training and held-out accuracy on one task differ by a few points; they differ by this much only if the problems or their keys differ.',
	),

	nanRows: threshold(
		2,
		'of the last 10 updates',
		'Mixed precision skips a single update whose gradient overflowed; several in a row are something else.',
	),

	mismatchKl: threshold(
		0.01,
		'nats per token',
		'About 0.001 is usual between vLLM and a trainer (NeMo-RL, GRPO guide, gen_kl_error); collapsed runs exceeded ten times that (Liu et al. 2025, When Speed Kills Stability).',
	),
	mismatchDifference: threshold(
		0.05,
		'nats per token',
		'NeMo-RL investigates from a mean factor of 1.01 to 1.02 between the two probabilities of a token; 0.05 is a factor of 1.05.',
	),
	mismatchRatio: threshold(
		0.1,
		'away from 1',
		'The mean ratio fluctuates around 1 (NeMo-RL, sampling importance ratio); a bias means different weights, templates or temperatures.',
	),
	mismatchBatches: threshold(10, 'batches', 'The first batch may be sampled before weights are in sync.'),

	throughputShare: threshold(
		0.4,
		'of the median so far',
		'Completion lengths and other processes change speed by a factor of two in normal runs.',
	),
	throughputBatches: threshold(30, 'batches', 'Checkpoints and evaluations are over within a few batches.'),

	stalledSeconds: threshold(
		60,
		'seconds',
		'A heartbeat is written every 5 s; a busy disk or a garbage collection takes less than this.',
	),
	stalledGaps: threshold(
		10,
		'times the median gap between rows',
		'Evaluations, checkpoints and judge retries can take as long as several batches.',
	),
	stalledLongest: threshold(
		2,
		'times the longest gap of the last 20 rows',
		'A gap that occurred before may occur again.',
	),

	/** Only NaN is reported for shorter runs. */
	shortRun: threshold(20, 'batches', 'A young run has no trend yet.'),
} as const satisfies Record<string, Threshold>;
export type ThresholdName = keyof typeof thresholds;

/** Returns the value of a threshold. */
export const limit = (name: ThresholdName): number => thresholds[name].value;
