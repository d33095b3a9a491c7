import { art } from './formats/art.ts';
import { chat } from './formats/chat.ts';
import { inspect } from './formats/inspect.ts';
import { lmEval } from './formats/lmEval.ts';
import { mlflow } from './formats/mlflow.ts';
import { mlflowFolders } from './formats/mlflowFolders.ts';
import { nemoGym } from './formats/nemoGym.ts';
import { nemoRl } from './formats/nemoRl.ts';
import { openRlhf } from './formats/openRlhf.ts';
import { openTelemetry } from './formats/openTelemetry.ts';
import { primeRl } from './formats/primeRl.ts';
import { rllm } from './formats/rllm.ts';
import { skyRl, skyRlEvaluation } from './formats/skyRl.ts';
import { slime } from './formats/slime.ts';
import { tensorboard } from './formats/tensorboard.ts';
import { tinker } from './formats/tinker.ts';
import { trackio } from './formats/trackio.ts';
import { trl } from './formats/trl.ts';
import { verifiers } from './formats/verifiers.ts';
import { verifiersLegacy } from './formats/verifiersLegacy.ts';
import { verl } from './formats/verl.ts';
import { wandb } from './formats/wandb.ts';
import type { RunFormat } from './runFormat.ts';

/** All supported formats of other trainers. If several match a folder, they are offered in this order. */
export const formats: readonly RunFormat[] = [
	trl,
	verl,
	primeRl,
	verifiers,
	verifiersLegacy,
	inspect,
	lmEval,
	nemoGym,
	nemoRl,
	skyRl,
	skyRlEvaluation,
	art,
	rllm,
	tinker,
	slime,
	openRlhf,
	trackio,
	wandb,
	mlflow,
	mlflowFolders,
	openTelemetry,
	tensorboard,
	chat,
];
