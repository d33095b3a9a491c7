import { createHash } from 'node:crypto';
import { join } from 'node:path';
import * as vscode from 'vscode';
import { formatCounted } from '../../../base/format.ts';
import { datasetPresets } from '../../../core/dataset/presets.ts';
import { hasHubDatasetForm } from '../../../core/recipe/hubId.ts';
import { requireTrust } from '../../launchSettings.ts';
import { showInputBox, showQuickPick } from '../../quickInput.ts';

export interface HubNeeds {
	/** Folder for downloaded rows. */
	readonly storage: vscode.Uri;
	/** Returns the PyTorch engine's Python interpreter. Fails with `missing`. */
	readonly python: () => Promise<{ readonly python: string }>;
}

/** Default number of rows, enough for inspection; users can request all rows. */
const proposedRows = 1000;
const maxRows = 100_000_000;

/**
 * Asks for a Hugging Face dataset and downloads its rows. Earlier downloads can be opened offline. Returns undefined if
 * the user cancels. Fails with the same errors as `downloadHubRows`.
 */
export async function openHubDataset({ storage, python }: HubNeeds): Promise<vscode.Uri | undefined> {
	requireTrust();
	const id = await showInputBox({
		title: 'Hugging Face Hub Dataset (1/4)',
		prompt: 'Dataset ID',
		placeHolder: 'openai/gsm8k',
		validateInput: (text) => (hasHubDatasetForm(text.trim()) ? undefined : 'Enter an ID such as openai/gsm8k.'),
	});
	if (id === undefined) return undefined;
	const known = Object.values(datasetPresets).find(({ path }) => path === id.trim());
	const config = await askName('Configuration (2/4). Leave empty if there is only one.', known?.config ?? '', true);
	if (config === undefined) return undefined;
	const split = await askName('Split (3/4)', known?.split ?? 'train', false);
	if (split === undefined) return undefined;
	const rows = await showInputBox({
		title: `Max rows to download, 0 for all (4/4)`,
		prompt: `Downloads the rows from the Hugging Face Hub to this machine.`,
		value: String(proposedRows),
		validateInput: (text) =>
			/^\d{1,9}$/.test(text.trim()) && Number(text) <= maxRows ? undefined : 'Enter an integer.',
	});
	if (rows === undefined) return undefined;
	return download({ id: id.trim(), config: config === '' ? null : config, split }, Number(rows), { storage, python });
}

async function askName(title: string, value: string, empty: boolean): Promise<string | undefined> {
	const text = await showInputBox({
		title,
		value,
		validateInput: (input) =>
			/^[\w.][\w.+-]{0,199}$/.test(input.trim()) || (empty && input.trim() === '') ? undefined : 'Not a valid name.',
	});
	return text?.trim();
}

async function download(
	split: { readonly id: string; readonly config: string | null; readonly split: string },
	rows: number,
	{ storage, python }: HubNeeds,
): Promise<vscode.Uri | undefined> {
	const key = createHash('sha256')
		.update(JSON.stringify([split.id, split.config, split.split, rows]))
		.digest('hex')
		.slice(0, 8);
	const name = [split.id.replace('/', '-'), split.config, split.split].filter((part) => part !== null).join('-');
	const out = vscode.Uri.file(join(storage.fsPath, 'hub', `${name}-${key}.jsonl`));
	const before = await vscode.workspace.fs.stat(out).then(
		({ mtime }) => new Date(mtime),
		() => null,
	);
	if (before !== null) {
		const open = `$(file) Open the copy from ${before.toLocaleString()}`;
		const again = '$(cloud-download) Download again';
		const picked = await showQuickPick([open, again], { title: split.id });
		if (picked === undefined) return undefined;
		if (picked === open) return out;
	}
	const [{ downloadHubRows }, { python: program }] = await Promise.all([
		import('../../../environment/hubRows.ts'),
		python(),
	]);
	return vscode.window.withProgress(
		{ location: vscode.ProgressLocation.Notification, title: `Reading ${split.id}`, cancellable: true },
		async (progress, token) => {
			const cancel = new AbortController();
			token.onCancellationRequested(() => cancel.abort());
			try {
				const made = await downloadHubRows(split, {
					python: program,
					rows,
					out: out.fsPath,
					signal: cancel.signal,
					onProgress: (count) => progress.report({ message: `${formatCounted(count, 'row')}` }),
				});
				return made.rows > 0 ? out : undefined;
			} catch (error) {
				if (cancel.signal.aborted) return undefined;
				throw error;
			}
		},
	);
}
