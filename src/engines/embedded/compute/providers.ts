import type { DeviceName } from '../../../protocol/recipeKeys/recipe.ts';
import type { PrecisionName } from '../../../protocol/recipeKeys/torchRecipe.ts';
import type { ExecutionReport } from '../learner.ts';
import { cpuDialect, cudaDialect, type Dialect, webgpuDialect, withProducts } from '../onnx/dialect.ts';

export type ProviderName = ExecutionReport['provider'];

/** Providers whose tensors can stay on the device between programs. */
export const residentProviders: readonly ProviderName[] = ['webgpu'];

/**
 * Providers that sample whole completions in one run, because they cannot keep tensors on the device between programs.
 */
export const loopProviders: readonly ProviderName[] = ['cuda'];

/** Execution provider names used by the runtime. */
export const runtimeNames: Readonly<Record<ProviderName, string>> = {
	cpu: 'cpu',
	cuda: 'cuda',
	webgpu: 'webgpu',
	directml: 'dml',
	coreml: 'coreml',
};

/** Operators that programs may use, by provider. */
export const dialects: Readonly<Record<ProviderName, Dialect>> = {
	cpu: cpuDialect,
	cuda: cudaDialect,
	webgpu: webgpuDialect,
	directml: cpuDialect,
	coreml: cpuDialect,
};

export function dialectOf(provider: ProviderName, precision: PrecisionName): Dialect {
	return withProducts(dialects[provider], precision === 'float32' ? null : precision);
}

/** Providers that may have kernels for each precision. Each device is still checked for correct results. */
const precisionProviders: Readonly<Record<Exclude<PrecisionName, 'float32'>, readonly ProviderName[]>> = {
	bfloat16: ['cuda'],
	float16: ['cuda', 'webgpu'],
};

export function hasPrecision(provider: ProviderName, precision: PrecisionName): boolean {
	return precision === 'float32' || precisionProviders[precision].includes(provider);
}

/** Suggested action, by provider, if a device selected by name cannot be used. */
export const remedies: Readonly<Record<ProviderName, string>> = {
	cpu: 'Reinstall the extension.',
	cuda: 'Run Set Up GPU (reasoning-lab setup-gpu), or set "device" to "webgpu", "auto" or "cpu".',
	webgpu: 'Install a current graphics driver (on Linux: Vulkan), or set "device" to "auto" or "cpu".',
	directml: 'Set "device" to "auto" or "cpu".',
	coreml: 'Set "device" to "auto" or "cpu".',
};

/** Returns why a provider cannot be used, as a clause. Needed because runtime errors begin with a source location. */
export function reasonOf(error: unknown): string {
	const text = error instanceof Error ? error.message : String(error);
	const line = text.trim().split('\n', 1)[0] as string;
	if (/Failed to get a WebGPU adapter/.test(text)) return 'no WebGPU adapter was found';
	if (/Failed to load shared library/.test(text)) return 'its libraries or its driver are not installed';
	if (/requires f16 but the device does not support it/.test(text)) return 'its driver does not support 16-bit numbers';
	return line.replace(/^.* was false\. /, '').replace(/[.\s]+$/, '');
}

/**
 * Returns candidates in order of preference. `auto` tries the GPU providers that the runtime package for the platform
 * can include, then the CPU. A named device is the only candidate.
 */
export function providerCandidates(device: DeviceName, platform: string, arch: string): ProviderName[] {
	if (device !== 'auto') return [device];
	if (platform === 'linux' && arch === 'x64') return ['cuda', 'webgpu', 'cpu'];
	if (platform === 'win32') return ['directml', 'webgpu', 'cpu'];
	if (platform === 'darwin') return ['webgpu', 'coreml', 'cpu'];
	return ['cpu'];
}
