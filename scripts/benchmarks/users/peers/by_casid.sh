casid identify robot.urdf train.csv --out result --urdf identified.urdf
casid validate robot.urdf result/identification.json held_out.csv
