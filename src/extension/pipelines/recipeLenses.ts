import { dirname } from 'node:path';
import * as vscode from 'vscode';
import { CodeLenses } from '../codeLenses.ts';
import { commandIds } from '../ids.ts';
import type { PipelineStore } from './pipelineStore.ts';

/** Code lenses that start a recipe, and that show the dependencies and the status of each pipeline stage. */
export class RecipeLenses extends CodeLenses {
	readonly #pipelines: PipelineStore;

	constructor(pipelines: PipelineStore) {
		super({ scheme: 'file', pattern: '**/*.recipe.json' });
		this.#pipelines = pipelines;
		this.register(pipelines.onDidChange(() => this.changed()));
	}

	protected async lensesOf(document: vscode.TextDocument): Promise<vscode.CodeLens[]> {
		const { stageLines } = await import('./stageLines.ts');
		const text = document.getText();
		const name = /"name"\s*:\s*"([^"\\]*)"/.exec(text)?.[1];
		const folder = dirname(document.uri.fsPath);
		const pipeline =
			this.#pipelines.pipelines.find(({ record }) => record.recipeFolder === folder && record.name === name) ?? null;
		const lines = stageLines(text, pipeline);
		const lenses = lines.flatMap(({ line, words, stage, state }) => [
			...(stage === null || state === null
				? []
				: [lens(line, state, this.#commandOf(stage.folder, stage.type, stage.done), [stage.folder])]),
			...(words === '' ? [] : [lens(line, words, '', [])]),
		]);
		if (!vscode.workspace.isTrusted) {
			const what = lines.length === 0 ? 'run' : 'pipeline';
			return [lens(0, `$(shield) Trust this workspace to start the ${what}`, 'workbench.trust.manage', []), ...lenses];
		}
		const start = lines.length === 0 ? 'Start Run' : 'Start Pipeline';
		return [lens(0, `$(play) ${start}`, commandIds.startRun, [document.uri]), ...lenses];
	}

	#commandOf(folder: string, type: string, done: number | null): string {
		if (this.#pipelines.evaluationAt(folder) !== undefined) return commandIds.showEvaluations;
		return done === null || type === 'search' || type === 'evaluate' ? '' : commandIds.openDashboard;
	}
}

function lens(line: number, title: string, command: string, args: unknown[]): vscode.CodeLens {
	return new vscode.CodeLens(new vscode.Range(line, 0, line, 0), { title, command, arguments: args });
}
