import * as vscode from 'vscode';
import { Failure } from '../../base/failure.ts';
import { formatBytes, formatPercent } from '../../base/format.ts';
import { pipelineFiles } from '../../protocol/pipelineFiles.ts';
import { engineTitles } from '../../runs/engineFacts.ts';
import { type CheckpointInfo, listCheckpoints } from '../../runs/runReader.ts';
import { exists } from '../exists.ts';
import { commandIds } from '../ids.ts';
import type { NewProjectAnswers } from '../newProject.ts';
import type { Notices } from '../notices.ts';
import { showQuickPick } from '../quickInput.ts';
import { isRecipe } from '../recipeDiagnostics.ts';
import type { RewardFileList } from '../rewards/rewardFileList.ts';
import type { RunPicker } from '../runPicker.ts';
import type { RunStarter, StartPlace } from '../runStarter.ts';
import { displayText, isResumable, nameOf, type RunView } from '../runView.ts';

interface Needs {
	readonly picker: RunPicker;
	readonly starter: RunStarter;
	readonly notices: Notices;
	/** Shows the memory estimate for a recipe. */
	readonly estimate: (recipe: vscode.Uri) => Promise<unknown>;
	/** Refreshed after a new project adds reward files. */
	readonly rewards: RewardFileList;
	/** Path of media/templates. */
	readonly templates: vscode.Uri;
	/** Location for the demo if no workspace folder contains it. */
	readonly storage: vscode.Uri;
}

/** Handlers for the commands that start training or create what it needs. Each one resolves to the run folder. */
export function startCommands({ picker, starter, notices, estimate, rewards, templates, storage }: Needs) {
	return {
		[commandIds.startDemoRun]: async (place?: unknown) =>
			starter.start(await demoRecipe(templates, storage), placeOf(place)),
		[commandIds.newProject]: async (answers?: unknown) => {
			const { newProject } = await import('../newProject.ts');
			const recipe = await newProject(templates, await answersOf(answers));
			if (recipe !== undefined) await rewards.refresh();
			return recipe;
		},
		[commandIds.startRun]: async (recipe?: unknown, place?: unknown) => {
			const uri = recipe instanceof vscode.Uri ? recipe : await pickRecipe(notices, 'Start a run');
			return uri && starter.start(uri, placeOf(place));
		},
		[commandIds.estimateMemory]: async (recipe?: unknown) => {
			const uri = recipe instanceof vscode.Uri ? recipe : await pickRecipe(notices, 'Estimate memory');
			return uri && estimate(uri);
		},
		[commandIds.resumeRun]: async (...args: unknown[]) => {
			const view = await picker.one(args, { title: 'Resume a run', what: 'can be resumed', applies: isResumable });
			return view && starter.resume(view, placeOf(args[1]));
		},
		[commandIds.resumeFromCheckpoint]: async (...args: unknown[]) => {
			const question = {
				title: 'Resume from a run checkpoint',
				what: 'can be read',
				applies: (run: RunView) => run.record !== null,
			};
			const view = await picker.one(args, question);
			if (view === undefined) return undefined;
			const step = typeof args[1] === 'number' ? args[1] : await pickCheckpoint(view);
			return step === undefined ? undefined : starter.branch(view, step, placeOf(args[2]));
		},
	};
}

function placeOf(argument: unknown): StartPlace {
	const show = (argument as { show?: unknown } | null | undefined)?.show;
	return typeof show === 'boolean' ? { show } : {};
}

async function answersOf(argument: unknown): Promise<NewProjectAnswers> {
	if (typeof argument !== 'object' || argument === null) return {};
	const { template, folder, onConflict, open } = argument as Record<string, unknown>;
	const { projectTemplates } = await import('../../runs/projectTemplates.ts');
	const known = projectTemplates.find((candidate) => candidate.id === template);
	return {
		...(known ? { template: known.id } : {}),
		...(folder instanceof vscode.Uri ? { folder } : {}),
		...(onConflict === 'keep' || onConflict === 'replace' || onConflict === 'fail' ? { onConflict } : {}),
		...(typeof open === 'boolean' ? { open } : {}),
	};
}

/** Returns the demo recipe from a workspace folder, or from a copy in the extension's storage. */
async function demoRecipe(templates: vscode.Uri, storage: vscode.Uri): Promise<vscode.Uri> {
	const { copyTemplate, projectTemplates, templateFiles } = await import('../../runs/projectTemplates.ts');
	const demo = projectTemplates.find((template) => template.id === 'demo');
	if (demo === undefined) throw new Failure('missing', 'This version does not include the demo.');
	for (const folder of vscode.workspace.workspaceFolders ?? []) {
		const recipe = vscode.Uri.joinPath(folder.uri, demo.recipe);
		if (folder.uri.scheme === 'file' && (await exists(recipe))) return recipe;
	}
	const target = vscode.Uri.joinPath(storage, 'demo');
	// Replace the copy from an older version; its runs keep their own recipe copies.
	await copyTemplate(await templateFiles(templates.fsPath, demo.id), target.fsPath, 'replace');
	return vscode.Uri.joinPath(target, demo.recipe);
}

/** Returns the recipe in the active editor, the only recipe in the workspace, or the user's choice. */
async function pickRecipe(notices: Notices, title: string): Promise<vscode.Uri | undefined> {
	const active = vscode.window.activeTextEditor?.document.uri;
	if (active !== undefined && isRecipe(active)) return active;
	const found = await vscode.workspace.findFiles('**/*.recipe.json', '**/{node_modules,.trash}/**', 1000);
	// Exclude the recipe copy inside a pipeline, whose paths are relative to a different folder.
	const own = (uri: vscode.Uri) => isRecipe(uri) && !uri.path.endsWith(`/${pipelineFiles.recipe}`);
	const recipes = found.filter(own).sort((a, b) => (a.path < b.path ? -1 : 1));
	if (recipes.length === 0) {
		const make = () => vscode.commands.executeCommand(commandIds.newProject);
		void notices.error('The workspace has no *.recipe.json file.', [{ title: 'New Project', run: make }]);
		return undefined;
	}
	if (recipes.length === 1) return recipes[0];
	const picked = await showQuickPick(recipeChoices(recipes), {
		title,
		placeHolder: 'Select a recipe',
	});
	return picked?.uri;
}

/** Lists recipes by name. The engine is shown only for the few recipes that can be read quickly. */
async function recipeChoices(recipes: readonly vscode.Uri[]) {
	const { recipeEngine } = await import('../recipeFaults.ts');
	return Promise.all(
		recipes.map(async (uri, i) => {
			const text = i < maxRead ? await vscode.workspace.fs.readFile(uri).then(decodeText, () => '') : '';
			const engine = recipeEngine(text);
			const label = displayText(vscode.workspace.asRelativePath(uri), 300);
			return { label, ...(engine === null ? {} : { description: engineTitles[engine] }), uri };
		}),
	);
}

/** Maximum number of recipes read for the list. */
const maxRead = 100;
const decodeText = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

async function pickCheckpoint(view: RunView): Promise<number | undefined> {
	const checkpoints = await listCheckpoints(view.folder);
	if (checkpoints.length === 0) {
		throw new Failure('missing', `${nameOf(view)} has no complete checkpoint.`, 'Run the recipe again.');
	}
	const picked = await showQuickPick(
		checkpoints.reverse().map((checkpoint) => ({ ...describe(checkpoint), step: checkpoint.step })),
		{
			title: `Resume ${nameOf(view)} as a new run`,
			placeHolder: 'Select a checkpoint',
			matchOnDescription: true,
			// When the palette closes, a panel that had focus regains it, possibly after this list has opened.
		},
	);
	return picked?.step;
}

function describe(checkpoint: CheckpointInfo): vscode.QuickPickItem {
	const { step, stage, score, best, bytes, time } = checkpoint;
	const parts = [
		stage === null ? null : displayText(stage, 40),
		score === null ? null : `accuracy ${formatPercent(score)}`,
		best ? 'best' : null,
	];
	return {
		label: `Step ${step}`,
		description: parts.filter((part) => part !== null).join(' · '),
		detail: `${new Date(time * 1000).toLocaleString()} · ${formatBytes(bytes)}`,
	};
}
