# frozen_string_literal: true

require "tmpdir"

# Makes the scenarios' brokers start faster. A broker's start mostly loads and compiles Kafka's
# classes. An archive of these classes (Java's class data sharing) and the C1 compiler alone reduce
# its processor time to 40%.
#
#   ClassArchive.during(program) { … }   # brokers started meanwhile, in any process, use it
#
# One broker starts and stops to write the archive. If that fails, brokers start without it.
module ClassArchive
  QUICK = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
  VARIABLE = "JAVA_TOOL_OPTIONS" # read by every JVM
  private_constant :QUICK, :VARIABLE

  def self.during(program)
    before = ENV.fetch(VARIABLE, nil)
    return yield if before || program.nil?

    Dir.mktmpdir("skep-classes") do |directory|
      archive = File.join(directory, "kafka.jsa")
      make(program, directory, archive)
      ENV[VARIABLE] = File.exist?(archive) ? "#{QUICK} -XX:SharedArchiveFile=#{archive}" : QUICK
      yield
    end
  ensure
    ENV[VARIABLE] = before
  end

  def self.make(program, directory, archive)
    broker = File.join(directory, "broker").tap { |place| Dir.mkdir(place) }
    port = Random.rand(10_000..32_000).to_s
    options = { VARIABLE => "#{QUICK} -XX:ArchiveClassesAtExit=#{archive}" }
    log = { out: File.join(directory, "log"), err: %i[child out] }
    system(options, program, "start", broker, port, log)
    system(program, "stop", broker, log) # the JVM writes the archive at its exit
  end
  private_class_method :make
end
