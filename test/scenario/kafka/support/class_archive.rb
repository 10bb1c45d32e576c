# frozen_string_literal: true

require "tmpdir"

# Makes the brokers of the scenarios start faster. Most of a start is the JVM loading and compiling
# Kafka's classes; an archive of these classes (Java's class data sharing) and the quick compiler
# alone take 40% of the processor time of a plain start.
#
#   ClassArchive.during(program) { … }   # brokers that start meanwhile, in any process, use it
#
# The archive is made by one broker that is started and stopped. If that fails, brokers start
# without it.
module ClassArchive
  QUICK = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
  VARIABLE = "JAVA_TOOL_OPTIONS" # every JVM reads it
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
    system(program, "stop", broker, log) # the JVM writes the archive as it ends
  end
  private_class_method :make
end
