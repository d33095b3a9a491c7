import { environmentName } from '../../core/episode/sameEnvironment.ts';
import type { PolicySpec } from '../../protocol/policySpec.ts';
import type { SearchEnvironment } from '../../protocol/searchSpec.ts';
import type { ComparedProblemsSpec } from '../../protocol/strategyComparison.ts';
import { runOf } from '../panels/playground/describePolicy.ts';
import type { RunStore } from '../runStore.ts';
import { displayText } from '../runView.ts';
import { chooseDatasetFile, datasetFileChoices } from './datasetFiles.ts';
import { askChoice, type Choice, type NoAnswer, type Question } from './questions.ts';
import { runProblems } from './runProblems.ts';
import type { SearchEnvironments } from './searchEnvironments.ts';

/** Problems to compare strategies on, and the environment to play them in, if any. */
export interface ChosenProblems {
	readonly problems: ComparedProblemsSpec;
	readonly environment: SearchEnvironment | null;
}

type Chosen = ChosenProblems | 'file' | 'server';

/** Asks for a comparison's problems: from a run, a file, or an environment. Runs no code. */
export async function askComparedProblems(
	question: Question,
	policy: PolicySpec | null,
	{ store, episodes }: { readonly store: RunStore; readonly episodes: SearchEnvironments },
): Promise<{ readonly value: ChosenProblems } | NoAnswer> {
	const answer = await askChoice<Chosen>(question, choicesFor(policy, store, episodes));
	if (answer === 'back' || answer === 'cancel') return answer;
	if (answer.value === 'file') {
		const path = (await chooseDatasetFile())?.fsPath;
		return path === undefined ? 'back' : { value: asked({ from: 'file', path }) };
	}
	if (answer.value !== 'server') return { value: answer.value };
	const environment = await episodes.chooseServer();
	return environment === null ? 'back' : { value: { problems: { from: 'environment' }, environment } };
}

const asked = (problems: ComparedProblemsSpec): ChosenProblems => ({ problems, environment: null });

async function choicesFor(
	policy: PolicySpec | null,
	store: RunStore,
	episodes: SearchEnvironments,
): Promise<Choice<Chosen>[]> {
	const run = policy === null ? null : runOf(policy);
	const [trained, offered, files] = await Promise.all([
		policy === null ? null : episodes.trained(policy),
		episodes.offered(),
		datasetFileChoices(),
	]);
	const own: Choice<Chosen>[] =
		trained === null || run === null
			? []
			: [
					{
						label: "$(play) Episodes on the run's held-out problems",
						description: displayText(environmentName(trained.spec), 80),
						value: { problems: { from: 'run', run, part: 'held-out' }, environment: trained.spec },
					},
				];
	return [
		...own,
		...runProblems(store.own, policy).map(({ value, ...choice }) => ({ ...choice, value: asked(value) })),
		...files.map(({ value, ...choice }) => ({
			...choice,
			value: value === null ? ('file' as const) : asked({ from: 'file', path: value.fsPath }),
		})),
		...offered.map(({ label, description, spec }) => ({
			label: `$(play) Episodes in ${label}`,
			description,
			value: { problems: { from: 'environment' as const }, environment: spec },
		})),
		{ label: '$(remote) Episodes on an OpenEnv server...', description: 'enter its address', value: 'server' as const },
	];
}
