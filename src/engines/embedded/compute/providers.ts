import type { DeviceName } from '../../../protocol/recipe.ts';
import type { ExecutionReport } from '../learner.ts';
import { cpuDialect, type Dialect, webgpuDialect } from '../onnx/dialect.ts';

export type ProviderName = ExecutionReport['provider'];

/** Execution provider names used by the runtime. */
export const runtimeNames: Readonly<Record<ProviderName, string>> = {
	cpu: 'cpu',
	cuda: 'cuda',
	webgpu: 'webgpu',
	directml: 'dml',
	coreml: 'coreml',
};

/** The operators that programs for a provider may use. */
export const dialects: Readonly<Record<ProviderName, Dialect>> = {
	cpu: cpuDialect,
	cuda: cpuDialect,
	webgpu: webgpuDialect,
	directml: cpuDialect,
	coreml: cpuDialect,
};

/**
 * Returns candidates in order of preference, always ending with the CPU. `auto` tries the GPU providers that the
 * runtime's package for the platform may include.
 */
export function providerCandidates(device: DeviceName, platform: string, arch: string): ProviderName[] {
	if (device === 'cpu') return ['cpu'];
	if (device !== 'auto') return [device, 'cpu'];
	if (platform === 'linux' && arch === 'x64') return ['cuda', 'webgpu', 'cpu'];
	if (platform === 'win32') return ['directml', 'webgpu', 'cpu'];
	if (platform === 'darwin') return ['webgpu', 'coreml', 'cpu'];
	return ['cpu'];
}
