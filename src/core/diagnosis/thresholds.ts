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
	degradeBatches: threshold(10, 'batches', 'The mean of ten batches varies a third as much as a single batch.'),
	openingBatches: threshold(
		3,
		'batches',
		'The first batch is sampled before any update, and the next two after one and two updates. If the learning rate ruins a policy within a few updates, later batches no longer show the starting level.',
	),
	degradeShare: threshold(
		0.25,
		'of reward_std',
		'A drop of a quarter of the reward spread is clearly visible on a chart; for a 0/1 reward, it is at most 0.12 in accuracy.',
	),
	degradeErrors: threshold(
		4,
		'standard errors',
		'Each run is tested after each of hundreds of batches against the same opening batches. At four standard errors (3 in 100,000 by chance), false alarms remain rare; at three, one flat run in forty would be flagged.',
	),
	degradeEvaluations: threshold(
		2,
		'evaluations',
		'A single evaluation can be low by chance, even with disjoint 95% intervals.',
	),
	rateCut: threshold(
		10,
		'times lower',
		'Learning rates are searched in powers of ten (common practice since Bengio 2012), and a rate that ruins a policy within a few dozen updates is too high by more than a factor of two.',
	),
	usualBeta: threshold(0.04, '', 'The KL coefficient of GRPO in DeepSeekMath (Shao et al. 2024, section 4.2).'),

	deadShare: threshold(
		0.8,
		'of the groups',
		'If four in five groups have no gradient, a batch costs five times as much as it contributes. DAPO (Yu et al. 2025, section 3.2) observed this fraction growing throughout training and resamples for that reason; below this limit, it is normal for a task that is being learned.',
	),
	deadBatches: threshold(20, 'batches', 'A single batch has few groups, so its fraction is noisy.'),
	deadCauseShare: threshold(0.5, 'of the dead groups', 'A cause is reported if it explains most of the dead groups.'),
	hopelessShare: threshold(
		0.01,
		'of the completions',
		'At 1 correct completion in 100, a group of eight contains a correct one about once every twelve batches.',
	),
	coldTemperature: threshold(
		0.7,
		'',
		'GRPO recipes sample at 0.9 to 1. At 0.7, a token with probability 0.1 whose only alternative has probability 0.9 is sampled half as often.',
	),
	hotterBy: threshold(
		1.5,
		'times the temperature',
		'POLARIS (An et al. 2025) raises the temperature to 1.4 and above as diversity runs out.',
	),
	solvedAccuracy: threshold(
		0.9,
		'accuracy',
		'Above this accuracy, a task counts as solved because there is little left to learn.',
	),

	entropyShare: threshold(
		0.1,
		'of the entropy at the start of the stage',
		'Entropy is traded for reward (Cui et al. 2025: R = -a exp(H) + b), mostly early on, so a drop alone is not a problem: a healthy demo run ends at a fifth of its initial entropy.',
	),
	entropyFloor: threshold(
		0.05,
		'nats per token',
		'A policy with more entropy than this still explores, regardless of its initial entropy.',
	),
	entropyDead: threshold(
		0.3,
		'of the groups that are not all correct',
		'Low entropy is not a problem if the stage started with it, because short answers need little. Among low-entropy policies, those that learned had no reward variance in about one in ten groups that were not all correct; in collapsed policies, it was at least four in ten.',
	),
	entropyHotter: threshold(
		2.5,
		'times the temperature',
		'POLARIS (An et al. 2025) uses 1.4 and above for policies that still have entropy; a policy without entropy needs more.',
	),
	entropyBatches: threshold(20, 'batches', 'Updates vary from batch to batch.'),

	klMean: threshold(
		1,
		'nats per token',
		'Healthy runs stay below a few tenths. At 1 nat per token, the reference policy would almost never have produced these completions.',
	),
	klGrowth: threshold(
		5,
		'times the earlier median',
		'A level that has been constant throughout the run reflects the choice of beta, not an event.',
	),
	klBatches: threshold(
		10,
		'updates',
		'k3 is heavy-tailed, and one token can dominate an update, so the rule uses the median of several.',
	),
	policyKl: threshold(
		0.1,
		'nats per token',
		'PPO implementations stop an epoch at 0.01 to 0.05 (Spinning Up, target_kl 0.01 x 1.5); ten times that amount is no longer a small step.',
	),

	lengthGrowth: threshold(
		2,
		'times the earlier length',
		'Length that grows with reward is a normal part of learning to reason (DeepSeek-R1, figure 3); twice as many tokens for the same reward is not.',
	),
	lengthShrink: threshold(0.4, 'times the earlier length', 'Short answers are fine if they get the same reward.'),
	lengthBatches: threshold(30, 'batches', 'Long enough for reward to respond to changes in length.'),
	overlongShare: threshold(
		0.25,
		'of the completions',
		'A truncated completion gets no reward no matter what it was about to say, so at a quarter or more, the limit drives the reward (DAPO, section 3.4, filters such completions because of that noise).',
	),
	overlongBatches: threshold(20, 'batches', 'A model that can learn to stop does so within a few batches.'),

	squeezedShare: threshold(
		0.5,
		'of the completions',
		'When most completions are truncated, the policy is rewarded for stopping early.',
	),
	squeezedLength: threshold(
		0.8,
		'of the initial length',
		'A reduction of a fifth exceeds the usual variation in length.',
	),

	dominantShare: threshold(
		0.9,
		'of the variance of the weighted components',
		'Advantages come from differences within groups: anything that does not vary is not trained.',
	),
	dominantBatches: threshold(20, 'batches', 'Standard deviations over single batches are noisy.'),
	dominantLookback: threshold(
		100,
		'batches',
		'By then, even slow learning should have produced a visible increase. If it has not, it probably will not.',
	),
	balancedShare: threshold(
		0.1,
		'of the SD of the correctness reward',
		'A tenth of the SD is a hundredth of the variance. It breaks ties between equally correct completions, while a reward that pulls away from correct answers is still outweighed.',
	),

	formatLearned: threshold(0.9, 'of the largest format reward', 'Nine in ten completions have the correct format.'),
	formatBatches: threshold(60, 'batches', 'Time allowed for correctness to improve once the format is learned.'),
	flatBelow: threshold(
		0.3,
		'accuracy',
		'A policy with higher accuracy has groups to learn from; if it makes no progress, it is on a plateau, and the cause is not the format.',
	),
	flatRise: threshold(0.05, 'in accuracy', 'Less than the variation in a batch of a hundred completions.'),

	hackingRise: threshold(
		0.5,
		'standard deviations of reward in a batch',
		'A clearly visible rise: half the reward spread within a batch.',
	),
	hackingEvaluations: threshold(3, 'evaluations', 'Two measurements without a rise can be due to chance.'),
	hackingBatches: threshold(50, 'batches', 'Held-out accuracy lags slightly behind training.'),

	loopShare: threshold(
		0.5,
		'of the 4-grams (repeats of earlier ones)',
		'Reasoning occasionally repeats a formula or a phrase; if every other 4-gram has occurred before, the text is looping. Uses word n-grams, as in the repetition penalty of Yeo et al. 2025 and open-r1.',
	),
	loopWords: threshold(50, 'n-grams', 'Shorter texts can repeat by chance.'),
	loopRollouts: threshold(0.1, 'of the rollouts', 'A few loops at temperature 1 are normal.'),
	loopSteps: threshold(5, 'steps with rollouts', 'A single step has few rollouts.'),

	stillBatches: threshold(
		40,
		'batches',
		'Twice as many batches as for other rules, because a slow start is not a stall.',
	),
	stillBound: threshold(
		0.02,
		'in probability',
		'By the Pinsker inequality, the probability of any set of completions can have moved by at most sqrt(KL / 2), with KL in nats per completion. Below 0.02, any improvement would be too small to detect on 400 held-out problems.',
	),
	betaHigh: threshold(
		1,
		'',
		'The optimal policy under a KL term is the reference times exp(advantage / beta). Advantages have SD 1, and correct and incorrect completions are about two apart, so at beta 1 the odds of a correct completion can grow by at most e^2, and at beta 5 by at most e^0.4 (about 1.5 times). Recipes use 0 to 0.1.',
	),
	clippedShare: threshold(
		0.05,
		'of the tokens',
		'With a range of 0.2, at most a few percent of the tokens are clipped (DAPO, section 3.1).',
	),
	epsilonLow: threshold(
		0.02,
		'',
		'Ranges of 0.1 to 0.3 are used for per-token ratios (Schulman et al. 2017; DAPO 0.2 and 0.28). Ranges ten times smaller are meant for whole-sequence ratios.',
	),
	usualEpsilon: threshold(0.2, '', 'The value that PPO uses, and the recipe default.'),
	errorBatches: threshold(
		5,
		'of the last 10 batches',
		'An occasional timeout is not a bug; a failure in every other batch is.',
	),
	repeatPairs: threshold(50, 'pairs', 'Fewer pairs of identical completions are not conclusive.'),
	repeatDiffer: threshold(
		0.1,
		'of the pairs',
		'A deterministic reward never differs; a judge at temperature 0 occasionally does.',
	),
	mixedLetters: threshold(0.1, 'of the letters', 'A single term or name from another language is normal.'),
	mixedShare: threshold(0.2, 'of the completions', 'One completion in five is too many to be accidental.'),
	languageWeight: threshold(
		1,
		'',
		'DeepSeek-R1 (section 2.3.2) adds language consistency to accuracy without weighting.',
	),
	agreeShare: threshold(
		0.75,
		'of the group',
		'Completions that reach the same answer in different ways are rarely all wrong (self-consistency, Wang et al. 2022).',
	),
	agreedWrong: threshold(
		0.1,
		'of the groups',
		'A few percent of the answer keys in a dataset are usually wrong; at one in ten, the damage goes beyond noise.',
	),
	agreedGap: threshold(
		0.2,
		'in accuracy',
		'Training and held-out accuracy on the same task normally differ by only a few points. A gap this large means that the problems or their answer keys differ.',
	),

	nanRows: threshold(
		2,
		'of the last 10 updates',
		'Mixed precision skips individual updates when the gradient overflows; several in a row point to another cause.',
	),

	mismatchKl: threshold(
		0.01,
		'nats per token',
		'About 0.001 is normal between vLLM and a trainer (NeMo-RL, GRPO guide, gen_kl_error). Collapsed runs exceeded ten times that value (Liu et al. 2025, When Speed Kills Stability).',
	),
	mismatchDifference: threshold(
		0.05,
		'nats per token',
		'NeMo-RL recommends investigating when the two probabilities of a token differ by a factor of 1.01 to 1.02 on average; 0.05 corresponds to a factor of 1.05.',
	),
	mismatchRatio: threshold(
		0.1,
		'away from 1',
		'The mean ratio fluctuates around 1 (NeMo-RL, sampling importance ratio). A bias means that weights, templates, or temperatures differ.',
	),
	mismatchBatches: threshold(10, 'batches', 'The first batch can be sampled before the weights are in sync.'),

	throughputShare: threshold(
		0.4,
		'of the median so far',
		'In normal runs, completion lengths and other processes change throughput by up to a factor of two.',
	),
	throughputBatches: threshold(30, 'batches', 'Checkpoints and evaluations finish within a few batches.'),

	toolFailures: threshold(
		0.5,
		'of the tool calls',
		'If most calls fail, the policy mostly sees error messages. Early in training, some calls fail because the policy is still learning the format.',
	),
	unusedCalls: threshold(
		0.05,
		'calls per completion',
		'At one call in twenty completions, most groups of eight contain none, so there is no advantage that could make calls more likely.',
	),
	toolBatches: threshold(20, 'batches', 'A policy that can learn the call format does so within a few batches.'),
	cutEpisodes: threshold(
		0.25,
		'of the episodes',
		'The same as `overlongShare`: episodes that are cut short are scored before their task is solved, so at a quarter or more, the limit drives the reward.',
	),
	cutSteps: threshold(3, 'steps', 'Episodes are read from rollouts, which contain every episode in a step.'),
	freeReward: threshold(
		0.9,
		'of the reward of episodes with calls',
		'If calls add a tenth or less, they are not worth their tokens, and a policy with a length penalty stops making them.',
	),
	freeEpisodes: threshold(
		20,
		'episodes of each kind',
		'The means of two sets of 20 rewards of 0 or 1 differ by 0.3 by chance one time in twenty.',
	),
	environmentShare: threshold(
		1,
		'times the sampling time',
		'At 1, the environment accounts for half the time it takes to get rewards, so a faster model or GPU could cut that time by at most half.',
	),

	stalledSeconds: threshold(
		60,
		'seconds',
		'A heartbeat is written every 5 s; delays caused by a busy disk or garbage collection are shorter than this.',
	),
	stalledGaps: threshold(
		10,
		'times the median gap between rows',
		'Evaluations, checkpoints, and judge retries can take as long as several batches.',
	),
	stalledLongest: threshold(
		2,
		'times the longest of the last 20 gaps between rows',
		'A gap that has occurred before can occur again.',
	),

	/** Only NaN is reported for shorter runs. */
	shortRun: threshold(20, 'batches', 'A shorter run does not show a trend yet.'),
} as const satisfies Record<string, Threshold>;
export type ThresholdName = keyof typeof thresholds;

/** Returns the value of a threshold. */
export const limit = (name: ThresholdName): number => thresholds[name].value;
