import { basename, dirname } from 'node:path';
import * as vscode from 'vscode';
import { Failure } from '../../base/failure.ts';
import { isServerAddress } from '../../core/episode/serverAddress.ts';
import { showInputBox, showQuickPick } from '../quickInput.ts';
import { displayText } from '../runView.ts';
import { environmentFilePattern, isEnvironmentUri } from './environmentFiles.ts';
import { isEnvironmentManifest, manifestNames } from './manifestFiles.ts';

const pattern = `**/{${[...manifestNames].join(',')}}`;
const excluded = '**/{node_modules,.venv,venv,site-packages}/**';
const maxFiles = 500;

/** Returns the environment files and manifests in the workspace, sorted by path. */
export async function findEnvironments(): Promise<vscode.Uri[]> {
	const [files, manifests] = await Promise.all([
		vscode.workspace.findFiles(environmentFilePattern, excluded, maxFiles),
		vscode.workspace.findFiles(pattern, excluded, maxFiles),
	]);
	const servers = new Set(
		manifests.filter(({ fsPath }) => basename(fsPath) === 'openenv.yaml').map(({ fsPath }) => dirname(fsPath)),
	);
	const found = [...files];
	for (const uri of manifests) {
		const { fsPath } = uri;
		// OpenEnv environments also have a pyproject.toml.
		if (basename(fsPath) === 'pyproject.toml' && servers.has(dirname(fsPath))) continue;
		if (await isEnvironmentManifest(fsPath)) found.push(uri);
	}
	return found.sort((a, b) => (a.fsPath < b.fsPath ? -1 : 1));
}

/** Asks which environment to step through: one in the workspace, or a server. Returns null if the user canceled. */
export async function chooseSteppedEnvironment(): Promise<string | null> {
	const items = [
		...(await findEnvironments()).map((uri) => ({ ...environmentLabel(uri), file: uri.fsPath })),
		{ label: '$(remote) OpenEnv server...', description: 'enter its address', file: null },
	];
	const chosen = await showQuickPick(items, { placeHolder: 'Environment to step through' });
	if (chosen === undefined || chosen.file !== null) return chosen?.file ?? null;
	const address = await showInputBox({
		title: 'OpenEnv server',
		placeHolder: 'http://localhost:8000',
		validateInput: (text) => (isServerAddress(text.trim()) ? null : 'Enter an address such as http://localhost:8000.'),
	});
	return address?.trim() ?? null;
}

/** Asks which environment in the workspace to use. Fails with `missing` if there is none. */
export async function chooseEnvironment(): Promise<vscode.Uri | undefined> {
	const found = await findEnvironments();
	if (found.length === 0) {
		throw new Failure(
			'missing',
			'The workspace does not contain an environment.',
			'Use New Environment…, then try again.',
		);
	}
	const items = found.map((uri) => ({ ...environmentLabel(uri), uri }));
	const chosen = await showQuickPick(items, { placeHolder: 'Environment to verify' });
	return chosen?.uri;
}

/** Returns an environment's label in a list, and the library it requires. */
export function environmentLabel(uri: vscode.Uri): { readonly label: string; readonly description: string } {
	const path = vscode.workspace.asRelativePath(isEnvironmentUri(uri) ? uri : vscode.Uri.file(dirname(uri.fsPath)));
	return { label: displayText(path, 200), description: libraryOf(uri) };
}

function libraryOf(uri: vscode.Uri): string {
	if (isEnvironmentUri(uri)) return '';
	return basename(uri.fsPath) === 'openenv.yaml' ? 'OpenEnv' : 'verifiers';
}
