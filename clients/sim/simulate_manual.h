// SPDX-License-Identifier: Apache-2.0
//
// The texts of `voxloc simulate --help` around its flags: the simulator's manual.

#ifndef VOXLOC_CLIENTS_SIM_SIMULATE_MANUAL_H_
#define VOXLOC_CLIENTS_SIM_SIMULATE_MANUAL_H_

namespace voxloc::sim {

inline constexpr char kSimulateDescription[] =
    "Simulate the drive of a vehicle with a LiDAR through a town, a hall, a garage, a forest, "
    "along "
    "a motorway, or through a scene where scans do not observe the whole pose; write the map, the "
    "scans and the exact poses.";

inline constexpr char kSimulateManual[] = R"(
Output:
  OUT/map/              tiles in Autoware's layout: pointcloud_map_metadata.yaml and
                        pointcloud_map.pcd/<x>_<y>.pcd (x, y: lowest corner in metres)
  OUT/scans/000000.pcd  one scan per file, in the sensor's frame (x ahead, y left, z up)
  OUT/poses.txt         the exact map_T_base of each scan, KITTI format: 12 numbers per line
  OUT/poses_tum.txt     the same as: stamp x y z qx qy qz qw
  OUT/simulation.json   every option and seed, and the counts
The base frame is the sensor's own frame. A scan is a snapshot at its stamp, without motion
distortion; with --skew its stamp and its pose are those of its first ray unless --stamp-at is
given, each point is in the sensor's frame at the moment of its own ray, and --point-times writes
that moment as the field t, in seconds since the stamp. Range noise is along the ray. Without noise,
every point within 100 m is on a surface to 0.01 mm. Parked cars are in the map; moving cars and
pedestrians are in the scans only. The same options give the same bytes with any number of threads.

Scenes:
  town      streets, houses, trees, parked cars: scans observe the whole pose
  corridor  a straight street between smooth walls without a visible end: scans do not observe the
            position along it
  tunnel    the same under a vault, uphill or downhill
  field     open ground with tracks across it: scans observe z, roll and pitch, and x, y and yaw by
            the relief and the posts only; not at all with --relief 0 and --posts 0
  hall      inside a warehouse or a factory: racks, machines, goods, columns, gates, roof beams
  garage    two storeys under low ceilings, joined by ramps: both alike, with different cars
  forest    trunks, crowns and undergrowth on undulating ground with tracks through it
  motorway  two carriageways with guard rails, gantries, bridges and noise walls, almost straight
Each seed gives another geometry. The drive of a garage starts on either storey and takes the ramps.

Examples:
  The demo's drive: 300 m of town, 200 scans, 20 seconds
    voxloc simulate --size 300 --scans 200 demo
  The accuracy set: nothing moves, 2 cm of noise, map points every 5 cm, 800 m driven;
  replay then thins each scan to about 1,500 points
    voxloc simulate --seed 1 --scans 240 --rate 2 --noise 0.02 --map-spacing 0.05 accuracy
    voxloc map load --map accuracy accuracy/map
    voxloc replay --map accuracy --scans accuracy/scans --poses accuracy/poses.txt \
        --points 1500 --perturb 0.5,0.5,0,0,0,2
  Dense traffic: many objects in the scans are not in the map
    voxloc simulate --traffic-cars 60 --traffic-people 300 --parked 0.9 --scans 400 traffic
  The same town at UTM coordinates with another drive
    voxloc simulate --seed 1 --drive-seed 7 --map-origin 400000,4000000,100 utm
  Drives where scans do not observe the whole pose
    voxloc simulate --scene corridor --scans 240 --rate 2 corridor
    voxloc simulate --scene tunnel --length 500 --slope 0.04 tunnel
    voxloc simulate --scene field --size 150 --relief 0 --posts 2 --max-range 60 field
  A sensor with 128 rings and its imperfections in wet weather
    voxloc simulate --sensor spinning-128 --noise-growth 0.0005 --beam-divergence 0.15 \
        --glass-dropout 0.6 --dark-dropout 0.3 --incidence-dropout 0.8 --wet-ground 0.9 wet
  A map with the smooth errors of a SLAM drive that is also a few years old
    voxloc simulate --map-drift 0.05 --changed-parking 0.7 --missing-structures 0.1 \
        --moved-structures 0.1 old
  Two minutes in a garage, and a motorway at 100 km/h
    voxloc simulate --scene garage --seed 7 --scans 240 --rate 2 garage
    voxloc simulate --scene motorway --scans 200 --rate 5 --map-spacing 0.1 motorway
)";

}  // namespace voxloc::sim

#endif  // VOXLOC_CLIENTS_SIM_SIMULATE_MANUAL_H_
