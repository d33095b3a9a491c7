import * as vscode from 'vscode';
import { Failure } from '../../base/failure.ts';
import { decode } from '../../protocol/decode.ts';
import { type PolicySpecOf, policySpecSchema } from '../../protocol/policySpec.ts';
import { settingIds } from '../ids.ts';

export type ServerPolicy = PolicySpecOf<'openai'>;
/** An entry as stored in the settings. */
type Entry = Readonly<Record<string, unknown>>;

export interface ServerList {
	readonly servers: readonly ServerPolicy[];
	/** Descriptions of invalid entries, which are skipped. */
	readonly faults: readonly string[];
}

function entriesOf(value: unknown): Entry[] {
	return Array.isArray(value) ? value.filter((entry) => typeof entry === 'object' && entry !== null) : [];
}

/** Returns the valid servers in the setting. If two have the same name, the first one wins. */
export function serversOf(value: unknown): ServerList {
	const servers: ServerPolicy[] = [];
	const faults: string[] = [];
	for (const [i, entry] of (Array.isArray(value) ? value : []).entries()) {
		const decoded = decode(policySpecSchema, { ...(entry as Entry), kind: 'openai' });
		const where = `Entry ${i + 1} of "${settingIds.policies}"`;
		if (!decoded.ok) faults.push(`${where}: ${decoded.faults[0]?.path} ${decoded.faults[0]?.message}.`);
		else if (servers.some(({ name }) => name === (decoded.value as ServerPolicy).name)) {
			faults.push(`${where} has the same name as another entry.`);
		} else servers.push(decoded.value as ServerPolicy);
	}
	return { servers, faults };
}

/** The setting `reasoningLab.policies`, which lists the user's servers. */
export const policySettings = {
	servers(): ServerList {
		return serversOf(vscode.workspace.getConfiguration().get(settingIds.policies));
	},
	/** Appends a server. Fails with `exists` if the name is in use. */
	async add({ kind: _, ...server }: ServerPolicy): Promise<void> {
		if (policySettings.servers().servers.some(({ name }) => name === server.name)) {
			throw new Failure('exists', `A policy named "${server.name}" already exists.`, 'Choose another name.');
		}
		await write((entries) => [...entries, server]);
	},
	/** Changes a server, or removes it if `change` is null. */
	async change(name: string, change: Partial<ServerPolicy> | null): Promise<void> {
		await write((entries) =>
			entries.flatMap((entry) => (entry.name !== name ? [entry] : change === null ? [] : [{ ...entry, ...change }])),
		);
	},
	onDidChange(listener: () => void): vscode.Disposable {
		return vscode.workspace.onDidChangeConfiguration((event) => {
			if (event.affectsConfiguration(settingIds.policies)) listener();
		});
	},
} as const;

/** Writes the list to the scope that defines it, because a workspace's list overrides the user's. */
async function write(change: (entries: readonly Entry[]) => readonly Entry[]): Promise<void> {
	const configuration = vscode.workspace.getConfiguration();
	const found = configuration.inspect(settingIds.policies);
	const own = found?.workspaceValue !== undefined;
	const target = own ? vscode.ConfigurationTarget.Workspace : vscode.ConfigurationTarget.Global;
	const entries = entriesOf(own ? found.workspaceValue : found?.globalValue);
	await configuration.update(settingIds.policies, change(entries), target);
}
