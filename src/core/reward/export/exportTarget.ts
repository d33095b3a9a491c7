/** Trainers that rewards can be exported to. */
export const exportTargets = ['trl', 'verl', 'openrlhf', 'verifiers'] as const;
export type ExportTarget = (typeof exportTargets)[number];

export interface TargetInfo {
	readonly title: string;
	/** Returns the trainer configuration that calls the adapter. */
	readonly usage: (file: string, names: readonly string[]) => string;
	/** Names defined by the adapter, which the reward file must not define. */
	readonly defines: readonly string[];
}

/**
 * Reward contracts, taken from the source code of each project: TRL 1.13 `GRPOTrainer._calculate_rewards`, verl 0.9
 * `trainer/ppo/reward.py` and `NaiveRewardManager`, OpenRLHF 0.11 `SingleTurnAgentExecutor`, verifiers 0.4
 * `v1/configs/task.py` and `v1/utils/decorators.py`.
 */
export const targetInfos: Readonly<Record<ExportTarget, TargetInfo>> = {
	trl: {
		title: 'TRL',
		usage: (file) =>
			`from ${moduleOf(file)} import reward_funcs, reward_weights\n` +
			'GRPOTrainer(..., reward_funcs=reward_funcs, args=GRPOConfig(..., reward_weights=reward_weights))',
		defines: ['reward_funcs', 'reward_weights'],
	},
	verl: {
		title: 'verl',
		usage: (file) => `reward.custom_reward_function.path=${file} reward.custom_reward_function.name=compute_score`,
		defines: ['compute_score'],
	},
	openrlhf: {
		title: 'OpenRLHF',
		usage: (file) => `--remote_rm_url ${file} --label_key answer`,
		defines: ['reward_func'],
	},
	verifiers: {
		title: 'verifiers',
		usage: (file, names) =>
			names.map((name) => `[env.taskset.task.rewards.${name}]\nfn = "${file}:${name}_of_trace"`).join('\n'),
		defines: [],
	},
};

const moduleOf = (file: string) => file.replace(/^.*[/\\]/, '').replace(/\.py$/, '');
