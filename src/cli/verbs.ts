import { Failure } from '../base/failure.ts';
import { auditVerb } from './auditVerb.ts';
import { compareStrategiesVerb } from './compareStrategiesVerb.ts';
import { compareVerb } from './compareVerb.ts';
import { datasetVerb } from './datasetVerb.ts';
import { doctorVerb } from './doctorVerb.ts';
import { estimateVerb } from './estimateVerb.ts';
import { evaluateVerb } from './evaluateVerb.ts';
import { exportOnnxVerb } from './exportOnnxVerb.ts';
import { exportRewardVerb } from './exportRewardVerb.ts';
import { exportVerb } from './exportVerb.ts';
import { feedbackVerb } from './feedbackVerb.ts';
import { generateDataVerb } from './generateDataVerb.ts';
import { helpText, verbHelp } from './helpText.ts';
import { inspectVerb } from './inspectVerb.ts';
import { newVerb } from './newVerb.ts';
import { parseArguments } from './parseArguments.ts';
import { pipelineVerb } from './pipelineVerb.ts';
import { queryVerb } from './queryVerb.ts';
import { reflexionVerb } from './reflexionVerb.ts';
import { reportVerb } from './reportVerb.ts';
import { rescoreVerb } from './rescoreVerb.ts';
import { resumeVerb } from './resumeVerb.ts';
import { rewardMathVerb } from './rewardMathVerb.ts';
import { runVerb } from './runVerb.ts';
import { sandboxCheckVerb } from './sandboxCheckVerb.ts';
import { searchVerb } from './searchVerb.ts';
import { serveVerb } from './serveVerb.ts';
import { setupPytorchVerb } from './setupPytorchVerb.ts';
import { slurmVerb } from './slurmVerb.ts';
import { solveVerb } from './solveVerb.ts';
import { statusVerb } from './statusVerb.ts';
import { stopVerb } from './stopVerb.ts';
import { transcriptVerb } from './transcriptVerb.ts';
import { treeVerb } from './treeVerb.ts';
import type { Verb } from './verb.ts';
import { verifyVerb } from './verifyVerb.ts';
import { versionVerb } from './versionVerb.ts';

const helpVerb: Verb = {
	name: 'help',
	usage: '[verb]',
	summary: 'Say what there is, or what a verb does.',
	options: [],
	async run({ args, output }) {
		const { positionals } = parseArguments('help', args, {}, { names: [], least: 0, most: 1 });
		const [name] = positionals;
		output.object({ verbs: verbs.map(({ name, usage, summary, options }) => ({ name, usage, summary, options })) });
		output.line(name === undefined ? helpText(verbs) : verbHelp(findVerb(name)));
		return 0;
	},
};

export const verbs: readonly Verb[] = [
	newVerb,
	runVerb,
	slurmVerb,
	resumeVerb,
	statusVerb,
	stopVerb,
	pipelineVerb,
	estimateVerb,
	inspectVerb,
	queryVerb,
	reportVerb,
	exportVerb,
	feedbackVerb,
	exportOnnxVerb,
	rescoreVerb,
	exportRewardVerb,
	verifyVerb,
	auditVerb,
	compareVerb,
	searchVerb,
	solveVerb,
	serveVerb,
	evaluateVerb,
	compareStrategiesVerb,
	generateDataVerb,
	datasetVerb,
	transcriptVerb,
	reflexionVerb,
	treeVerb,
	setupPytorchVerb,
	doctorVerb,
	sandboxCheckVerb,
	rewardMathVerb,
	helpVerb,
	versionVerb,
];

/** Fails with `invalid` for an unknown name. */
export function findVerb(name: string): Verb {
	const verb = verbs.find((candidate) => candidate.name === name);
	if (verb !== undefined) return verb;
	throw new Failure('invalid', `reasoning-lab has no verb "${name}".`, 'See reasoning-lab help.');
}
