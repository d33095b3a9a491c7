import type { EnvironmentTarget, ExportedEnvironment, ExportFinding } from './environmentExport.ts';

/** Returns features that will not work, or will work differently, in the target. */
export function exportFindings(target: EnvironmentTarget, exported: ExportedEnvironment): ExportFinding[] {
	return [...commonFindings(exported), ...targetFindings[target](exported)];
}

function commonFindings({ environment, columns }: ExportedEnvironment): ExportFinding[] {
	const findings: ExportFinding[] = [];
	for (const { fault } of environment.tools) {
		if (fault !== null) findings.push({ level: 'error', message: `${fault.message}.` });
	}
	if (environment.asyncReset) {
		findings.push({ level: 'error', message: 'reset is asynchronous.', action: 'Make it a regular method.' });
	}
	if (environment.tools.length === 0) findings.push({ level: 'error', message: 'The environment has no tools.' });
	if (columns === null) {
		const action = 'Add "# @dataset FILE" to the environment file, or use --dataset.';
		findings.push({ level: 'warning', message: 'The environment has no rows, so the export contains none.', action });
	} else if (!columns.includes('prompt')) {
		const action = 'Add a "prompt" column with a list of messages.';
		findings.push({ level: 'error', message: 'The rows have no prompt.', action });
	}
	findings.push({
		level: 'information',
		message:
			"Reasoning Lab's time and memory limits do not apply: a tool that hangs or exits takes its whole process with it.",
	});
	return findings;
}

const targetFindings: Readonly<Record<EnvironmentTarget, (exported: ExportedEnvironment) => ExportFinding[]>> = {
	trl: ({ environment }) => [
		...(environment.reportsDone
			? [
					{
						level: 'warning',
						message: 'TRL ignores done, so the model can call tools after the episode ends.',
						action: 'Raise an exception in tools once the task is over.',
					} as const,
				]
			: []),
		...(environment.ownsReward ? [] : [noReward('reward functions that read environments')]),
	],
	verifiers: ({ environment }) => [
		{
			level: 'warning',
			message: 'The reward replays the recorded calls in a new instance, so the environment must be deterministic.',
			action: 'Derive random values from the row.',
		},
		{ level: 'information', message: 'The text that reset returns is added to the prompt when tasks are loaded.' },
		{
			level: 'information',
			message: 'Arguments are validated before the call, so error messages for invalid arguments differ.',
		},
		...(environment.ownsReward ? [] : [noReward('a @vf.reward method')]),
	],
	openenv: ({ environment }) => [
		{
			level: 'warning',
			message:
				'A server does not know when an episode ends, so get_reward is called after every tool call, and each step earns the difference.',
			action: 'Keep get_reward fast and free of side effects.',
		},
		{ level: 'information', message: 'Tools are available through the actions list_tools and call_tool.' },
		...(environment.reportsDone
			? []
			: [
					{
						level: 'warning',
						message: 'The environment does not set done, so episodes never end on the server.',
						action: 'Set the done attribute.',
					} as const,
				]),
		...(environment.ownsReward ? [] : [noReward('a rubric')]),
	],
};

function noReward(what: string): ExportFinding {
	return { level: 'warning', message: 'The class has no get_reward.', action: `Add ${what} in the export.` };
}
