# SPDX-License-Identifier: Apache-2.0
"""Is the engine the limit, and is it well?"""

from panels import dashboard, lines, row, stat, verdict
from queries import by_version, limit, mean, of, quantile, rate, rates, share, summed

WAIT = quantile(0.95, "voxloc_queue_wait_seconds", "", 'class="tracking"')
WAIT_LIMIT = "limit:voxloc_queue_wait_seconds:p95"
MEMORY = f"{of('voxloc_engine_memory_used_bytes')} / {of('voxloc_engine_memory_total_bytes')}"


def of_gpus(title, description, field, unit, factor=""):
    return lines(title, description + " By NVIDIA's DCGM exporter.",
                 {"{{Hostname}} GPU {{gpu}}": f'DCGM_FI_DEV_{field}{{job="dcgm"}}{factor}'}, unit)


def stages(q):
    return {"{{stage}}": quantile(q, "voxloc_stage_duration_seconds", "stage")}


# The parts of a scan's time in the server; of `align` those of the batch that it is in.
PARTS = {"queue": mean("voxloc_queue_wait_seconds", "", 'class="tracking"'),
         **{stage: mean("voxloc_stage_duration_seconds", "", f'stage="{stage}"')
            for stage in ("prepare", "align", "estimate", "encode")}}

DASHBOARD = dashboard(
    "engine", "Engine", "Is the engine the limit, and is it well?",
    row("Limit",
        verdict("The engine keeps up",
                "Yes: scans wait less for their turn than the limit, and each engine works. No, with a wait above the limit: the "
                "servers are at their capacity, so add servers, or take vehicles away (docs/sizing.md); "
                "docs/alerts.md#voxlocqueuewaits. No, with an engine that failed: docs/alerts.md#voxlocenginelost. Slow answers while this is yes are not the "
                "engine: see Where the time of a scan goes.",
                f"({WAIT} <= bool {limit(WAIT_LIMIT)}) * (min({of('voxloc_engine_healthy')}) == bool 1)", idle="no scans"),
        stat("Wait, of the limit", "The wait that one scan in twenty has for its turn, over the limit: above 1 VoxlocQueueWaits fires.",
             f"{WAIT} / {limit(WAIT_LIMIT)}", most=1),
        stat("Share of waiting", "Of the mean time of a scan in the server, the part in the queue. Above a half the load is the cause "
             "of the latency; below, the work of one scan is.",
             f"{PARTS['queue']} / {mean('voxloc_scan_duration_seconds')}", "percentunit"),
        stat("Engines that work", "Share of the servers whose engine works. docs/alerts.md#voxlocenginelost.",
             f"avg({of('voxloc_engine_healthy')})", "percentunit", least=1),
        stat("Fallbacks", "Servers that do not run on the engine that was asked for: a fraction of the capacity. "
             "docs/alerts.md#voxlocenginefallback.", summed(of("voxloc_engine_fallback")), most=0),
        stat("Scans in a batch", "Mean of the scans in one call of the engine. 1 with a full GPU: vehicles are too few to batch.",
             mean("voxloc_batch_size")),
        stat("Failed calls", "Requests that failed in a call of the engine, a second. docs/alerts.md#voxlocenginefailures.",
             rates("voxloc_engine_failures_total"), "reqps", most=0)),
    row("Time",
        lines("Where the time of a scan goes", "Mean of each part. queue: load (docs/alerts.md#voxlocqueuewaits); align: large scans, bad "
              "guesses or a CPU in place of a GPU; estimate: sessions ask for costly covariances; encode: large replies.",
              PARTS, "s", stacked=True),
        lines("Wait for the turn of scans (p95), by server", "Above the limit VoxlocQueueWaits fires. One server alone: its vehicles or "
              "its engine.", {"{{instance}}": quantile(0.95, "voxloc_queue_wait_seconds", "instance", 'class="tracking"')}, "s",
              WAIT_LIMIT),
        lines("Wait for the work to begin (p95)", "By class of work. Maps, searches and estimates wait for scans, by design.",
              {"{{class}}": quantile(0.95, "voxloc_queue_wait_seconds", "class")}, "s"),
        lines("Waiting", "Tasks that wait, by class of work. tracking that does not go back to 0: above capacity.",
              {"{{class}}": summed(of("voxloc_queue_depth"), "class")}),
        lines("Stages (p50)", "Time of one stage: of a scan, a batch, a slice of poses or a tile.", stages(0.5), "s"),
        lines("Stages (p99)", "The same for the slowest hundredth.", stages(0.99), "s"),
        lines("Align (p50), by version", "Time of the engine's calls by the version of the server: whether an upgrade made it slower.",
              {"{{version}}": "histogram_quantile(0.5, " + summed(by_version(summed(
                  rate("voxloc_stage_duration_seconds_bucket", 'stage="align"'), "le, job, instance")), "le, version") + ")"},
              "s"),
        lines("Stages of the GPUs (p50)", "Upload, kernel and download of one launch in 16. Upload and download above the kernel: the "
              "bus, or small batches.", {"{{stage}}": quantile(0.5, "voxloc_device_stage_duration_seconds", "stage")}, "s"),
        lines("Scans in a batch, over time", "Scans in one call of the engine. It rises with the load.",
              {"p50": quantile(0.5, "voxloc_batch_size"), "p95": quantile(0.95, "voxloc_batch_size")}),
        lines("Points of a scan", "Mean of the scans received. Twice as many points are nearly twice the work.",
              {"{{instance}}": share(rate("voxloc_scan_points_received_total"), rate("voxloc_scans_received_total"), "instance")}),
        lines("Poses scored", "By ScorePoses, a second.", {"{{instance}}": rates("voxloc_poses_scored_total", "instance")}),
        lines("Candidates of searches", "Candidates that searches aligned, a second: work beside the scans.",
              {"{{instance}}": rates("voxloc_search_candidates_aligned_total", "instance")})),
    row("Engine and GPUs",
        lines("Devices", "1: the device works. 0: it has failed permanently. docs/alerts.md#voxlocdevicelost.",
              {"{{instance}} {{device}}": of("voxloc_engine_device_healthy")}),
        lines("Failed calls, by kind", "A second: fault an error of one call, memory too little of it, lost a device that has failed. "
              "docs/alerts.md#voxlocenginefailures.", {"{{kind}}": rates("voxloc_engine_failures_total", "kind")}, "reqps"),
        lines("Takeovers and fallback", "Engines that took over; 1: a server does not run on the engine asked for.",
              {"{{instance}} takeovers": of("voxloc_engine_takeovers_total"), "{{instance}} fallback": of("voxloc_engine_fallback")}),
        lines("Memory of the GPUs", "In use, by voxlocd and others. Above the limit VoxlocGpuMemoryLow fires: "
              "docs/alerts.md#voxlocgpumemorylow.", {"{{instance}} {{device}}": MEMORY}, "percentunit",
              "limit:voxloc_engine_memory_used:ratio"),
        of_gpus("Load of the GPUs", "Share of the time in which a kernel ran; at 100 % and waiting scans the GPU is the limit.",
                "GPU_UTIL", "percent"),
        of_gpus("Power", "At its bound a GPU lowers its clock.", "POWER_USAGE", "watt"),
        of_gpus("Temperature", "At its bound a GPU lowers its clock: look after the cooling.", "GPU_TEMP", "celsius"),
        of_gpus("Clock", "Of the streaming multiprocessors. A fall under load is power or heat.", "SM_CLOCK", "hertz", " * 1e6"),
        of_gpus("Last XID error", "Number of the last error that the driver saw; 0: none. docs/alerts.md#voxlocgpuerrors.",
                "XID_ERRORS", "short")),
    row("Process",
        lines("Processors in use", "With the CPU engine the servers are at their capacity where it stays at `threads`.",
              {"{{instance}}": rate("process_cpu_seconds_total")}),
        lines("Memory", "Resident memory of the process. It follows maps and sessions; a steady rise with neither is a leak: report it.",
              {"{{instance}}": of("process_resident_memory_bytes")}, "bytes"),
        lines("File descriptors", "Open. docs/operations.md has the limit of connections.", {"{{instance}}": of("process_open_fds")})))
